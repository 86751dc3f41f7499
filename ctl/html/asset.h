/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assets: the parts of a page that are the same in all, as asset.S takes them into commctl.
 * The head names the hashes of style and script, without which no browser runs them.  That of a page which commctl serve keeps
 * current names that of live.js as well, and lets the page ask where it came from; its policy is there once more for a header of HTTP.
 */
#ifndef CTL_ASSET_H
#define CTL_ASSET_H

extern const char ctl_asset_head[], ctl_asset_style[], ctl_asset_body[], ctl_asset_script[];
extern const char ctl_asset_live[], ctl_asset_live_head[], ctl_asset_live_policy[];

#endif
