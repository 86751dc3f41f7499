#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What bash, zsh and fish complete, from the installed files.
. "$(dirname "$0")/../tap.bash"
same() { # NAME GOT WANTED
  if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "'$2', not '$3'"; fi
}

make -s O="$O" install PREFIX="$dir/usr" DESTDIR= >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
share=$dir/usr/share
touch "$dir/one.db" "$dir/one.txt"

# in_bash WORD...: what bash offers for the last word, in one line.
in_bash() {
  bash --norc -c 'cd "$1"; source "$2"; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _commprof; printf "%s\n" "${COMPREPLY[@]}"' - "$dir" "$share/bash-completion/completions/$1" "$@" | sort | xargs
}
same "bash: commands" "$(in_bash commctl d)" "delete diff doctor"
same "bash: an option of commctl" "$(in_bash commctl report --min)" "--min-share"
same "bash: values that are a list" "$(in_bash commctl report --as g)" "graphml"
same "bash: values behind a sign" "$(in_bash commctl report --by = r)" "region role"
same "bash: a value that is not begun" "$(in_bash commctl report --as =)" "csv dot graphml json text"
same "bash: files" "$(in_bash commctl list -s one)" "one.db one.txt"
same "bash: an option of commd" "$(in_bash commd --over)" "--overhead --overhead-floor"
same "bash: sources" "$(in_bash commd --source km)" "kmod"
same "bash: no file where a number is wanted" "$(in_bash commd --rate one)" ""
same "bash: a command to run" "$(in_bash commd --rate 9 -- bas | tr ' ' '\n' | grep -x -m 1 bash)" bash
# Whatever a program takes, it completes, and nothing else.
for command in '' $("$O/commctl" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | grep -vx help); do
  if [ -z "$command" ]; then program=(commd); help=$("$O/commd" --help); else program=(commctl "$command"); help=$("$O/commctl" help "$command"); fi
  same "bash: all options of ${program[*]}" "$(in_bash "${program[@]}" -- | tr ' ' '\n' | grep '^--' | xargs)" \
    "$(grep -oE '^ +(-., )?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+$' | sort | xargs)"
done

if command -v fish >/dev/null; then
  in_fish() { # LINE
    HOME=$dir fish --no-config -c "cd $dir; source $share/fish/vendor_completions.d/${1%% *}.fish; complete -C '$1'" | cut -f1 | sort | xargs
  }
  same "fish: commands" "$(in_fish 'commctl d')" "delete diff doctor"
  same "fish: an option" "$(in_fish 'commctl report --min')" "--min-share"
  same "fish: values" "$(in_fish 'commd --source ex')" "exact"
  same "fish: files" "$(in_fish 'commctl list --store one')" "one.db one.txt"
else
  skip "fish" "fish is not installed"
fi

if command -v zsh >/dev/null; then
  # A terminal of its own, since zsh completes for a line that is being edited; what it lists is kept.
  in_zsh() { # LINE SECONDS
    (cd "$dir" && zsh -f -c '
      zmodload zsh/zpty
      zpty z "TERM=dumb zsh -f -i"
      zpty -w z "PS1=; fpath=('"$share"'/zsh/site-functions \$fpath); autoload -Uz compinit; compinit -D -u; zstyle \":completion:*\" list-separator \"\"; zstyle \":completion:*\" verbose no; compadd() { builtin compadd -O got \"\$@\"; print -r -- HAS \$got; builtin compadd \"\$@\" }; print REA\DY"
      zpty -r -m z seen "*READY*"
      zpty -w -n z "$1"$'"'\\t'"'
      sleep $2
      zpty -rt z seen && print -r -- "$seen"
      while zpty -rt z seen; do print -r -- "$seen"; done
      zpty -d z' - "$1" "$2" | tr -d '\r' | sed -n 's/.*HAS //p' | tr ' ' '\n' | sort -u | xargs)
  }
  said=$(zsh -n "$share/zsh/site-functions/_commprof" 2>&1) && ok "zsh: it is well formed" || not_ok "zsh: it is well formed" "$said"
  same "zsh: for which programs" "$(head -n 1 "$share/zsh/site-functions/_commprof")" "#compdef commd commctl"
  while read -r line wanted; do
    for seconds in 1 4 16; do # on a busy machine it takes its time
      got=$(in_zsh "${line//_/ }" $seconds)
      [ "$got" = "$wanted" ] && break
    done
    same "zsh: ${line//_/ }" "$got" "$wanted"
  done <<'END'
commctl_report_--as_g graphml
commd_--source_ex exact
commctl_report_--min --min-share
END
else
  skip "zsh" "zsh is not installed"
fi
exit $status
