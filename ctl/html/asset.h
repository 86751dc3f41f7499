/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assets: the parts of a page that are the same in all, as asset.S takes them into commctl.
 * The head names the hashes of style and script, without which no browser runs them.
 */
#ifndef CTL_ASSET_H
#define CTL_ASSET_H

extern const char ctl_asset_head[], ctl_asset_style[], ctl_asset_body[], ctl_asset_script[];

#endif
