#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints completions for a shell, from what the programs' --help says of their option tables:
# packaging/completion.sh bash|zsh|fish-commd|fish-commctl COMMD COMMCTL
# (fish loads a file by the name of the program alone).
set -eu
export LC_ALL=C
export ARGP_HELP_FMT='rmargin=2000,opt-doc-col=60,short-opt-col=2,long-opt-col=6,doc-opt-col=2,header-col=1,no-dup-args-note'
[ $# = 3 ] || { echo "usage: $0 bash|zsh|fish-commd|fish-commctl COMMD COMMCTL" >&2; exit 2; }
commd=$2 commctl=$3

# Lines of "c NAME HELP", a command of commctl, and of "o PROGRAM COMMAND SHORT LONG ARG VALUES
# HELP", an option, with tabs between; VALUES is what ARG may be, or file, dir, pid or runs.
options() { # PROGRAM COMMAND
  awk -v program="$1" -v command="$2" '
    function list(text,   n, part, i, word, ret) {
      # "auto, bpf, kmod[:precise|transfers], exact or replay:FILE; see ..."
      sub(/;.*/, "", text); gsub(/ \(default\)/, "", text); gsub(/ or /, ", ", text)
      n = split(text, part, ", ")
      for (i = 1; i <= n; i++) {
        word = part[i]; sub(/\[.*/, "", word); sub(/:.*/, ":", word)
        if (n < 2 || word !~ /^[a-z:-]+$/) return ""
        ret = ret (i > 1 ? " " : "") word
      }
      return ret
    }
    /^ FORM(AT)? is one of:/ { forms = 1; next }
    forms && /^  [a-z]/ { form = form (form ? " " : "") $1; next }
    !/^ +-/ { forms = 0; next }
    {
      short = arg = ""
      help = $0; sub(/^ *(-., )?--[^ ]+ */, "", help)
      if (match($0, /^  -[^ ,-]/)) short = substr($0, 4, 1)
      long = $0; sub(/^[^-]*(-., )?--/, "", long); sub(/ .*/, "", long)
      sub(/\[=.*/, "", long) # a value that may be left out is not asked for
      if (long !~ /^[a-z][][a-z=|A-Z:,.-]*$/) next
      if (index(long, "=")) { arg = long; sub(/^[^=]*=/, "", arg); sub(/=.*/, "", long) }
      if (long ~ /^by-/) by = by (by ? " " : "") substr(long, 4)
      value = arg == "FILE" ? "file" : arg == "DIR" || arg == "PATH" ? "dir" : arg == "PID" ? "pid" : ""
      if (arg == "NAME" && long != "by") value = list(help)
      n++; s[n] = short; l[n] = long; a[n] = arg; v[n] = value; h[n] = help
    }
    END {
      for (i = 1; i <= n; i++) {
        if (l[i] == "by") v[i] = by
        if (l[i] == "as") v[i] = form
        if (l[i] == "of") v[i] = "rate share"
        printf "o\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", program, command, s[i], l[i], a[i], v[i], h[i]
      }
    }'
}

table() {
  "$commctl" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/c\t\1\t\2/p'
  "$commd" --help | options commd ''
  for command in $("$commctl" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    [ "$command" = help ] || "$commctl" help "$command" | options commctl "$command"
  done
}

# compinit looks for #compdef in the first line.
[ "$1" = zsh ] && echo '#compdef commd commctl'
echo '# Made by packaging/completion.sh from what the programs say in --help.'
case "$1" in
bash)
  cat <<'END'
_commprof() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} program=${COMP_WORDS[0]##*/} command='' i
  COMPREPLY=()
  # "--store=FI" comes as three words.
  if [ "$cur" = = ]; then cur=
  elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$program" = commctl ]; then
    command=${COMP_WORDS[1]}
    if [ "$COMP_CWORD" = 1 ] || [ "$command" = help ]; then
      mapfile -t COMPREPLY < <(compgen -W "$_commprof_commands" -- "$cur")
      return
    fi
  else
    for ((i = 1; i < COMP_CWORD; i++)); do
      [ "${COMP_WORDS[i]}" = -- ] || continue
      # Of a command to run: its name, and then what may be a file.
      if [ $((i + 1)) = "$COMP_CWORD" ]; then mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      else mapfile -t COMPREPLY < <(compgen -f -- "$cur"); fi
      return
    done
  fi
  case "$program $command $prev" in
END
  table | awk -F '\t' '
    $1 == "c" { commands = commands (commands ? " " : "") $2; next }
    { key = $2 " " $3; if (!(key in all)) name[++n] = key; all[key] = all[key] " --" $5 ($4 ~ /[a-z]/ ? " -" $4 : "") }
    $6 != "" {
      action = $7 == "file" ? "compgen -f" : $7 == "dir" ? "compgen -d" : \
        $7 == "pid" ? "compgen -W \"$(cd /proc && echo [0-9]*)\"" : $7 == "" ? "" : "compgen -W \"" $7 "\""
      printf "  \"%s --%s\"%s) %s ;;\n", key, $5, $4 ? "|\"" key " -" $4 "\"" : "", \
        action ? "mapfile -t COMPREPLY < <(" action " -- \"$cur\")" : ":"
    }
    END {
      print "  *)\n    case \"$program $command\" in"
      for (i = 1; i <= n; i++)
        printf "    \"%s\") mapfile -t COMPREPLY < <(compgen -W \"%s\" -- \"$cur\") ;;\n", name[i], substr(all[name[i]], 2)
      print "    esac\n    [ ${#COMPREPLY[@]} -gt 0 ] || case $cur in -*) ;; *) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;; esac ;;"
      print "  esac\n}\n_commprof_commands=\"" commands "\""
    }'
  echo 'complete -o filenames -F _commprof commd commctl'
  ;;
zsh)
  table | awk -F '\t' -v q="'" '
    function quoted(text) { gsub(q, q "\\" q q, text); return q text q }
    function plain(text) { gsub(/[\[\]:\\]/, "\\\\&", text); return text }
    $1 == "c" { commands = commands " " quoted($2 ":" $3); next }
    {
      what = $7 == "file" ? "_files" : $7 == "dir" ? "_files -/" : $7 == "pid" ? "_pids" : $7 == "" ? " " : "(" plain($7) ")"
      tail = "[" plain($8) "]" ($6 != "" ? ":" $6 ":" what : "")
      key = $2 " " $3
      if (!(key in spec)) name[++n] = key
      spec[key] = spec[key] " \\\n      " quoted("--" $5 ($6 != "" ? "=" : "") tail)
      if ($4 ~ /[a-z]/) spec[key] = spec[key] " \\\n      " quoted("-" $4 tail)
    }
    END {
      print "_commctl() {\n  local -a commands=(" commands ")"
      print "  if (( CURRENT == 2 )) || [[ $words[2] = help ]]; then _describe command commands; return; fi"
      print "  shift words; (( CURRENT-- ))\n  case $words[1] in"
      for (i = 1; i <= n; i++) if (name[i] ~ /^commctl /)
        printf "  %s) _arguments%s \\\n      \"*:file:_files\" ;;\n", substr(name[i], 9), spec[name[i]]
      print "  esac\n}\n_commd() {\n  _arguments -S" spec["commd "] " \\\n      \"*::command:_normal\"\n}"
      print "case $service in\ncommd) _commd \"$@\" ;;\ncommctl) _commctl \"$@\" ;;\nesac"
    }'
  ;;
fish-*)
  table | awk -F '\t' -v program="${1#fish-}" -v q="'" '
    function quoted(text) { gsub(/[\\]/, "&&", text); gsub(q, "\\" q, text); return q text q }
    $1 == "c" { if (program == "commctl") printf "complete -c commctl -f -n __fish_use_subcommand -a %s -d %s\n", $2, quoted($3); next }
    $2 == program {
      printf "complete -c %s%s%s -l %s%s -d %s\n", program, $3 ? " -n " quoted("__fish_seen_subcommand_from " $3) : "", \
        $4 ~ /[a-z]/ ? " -s " $4 : "", $5, \
        $6 == "" ? "" : $7 == "file" ? " -r -F" : $7 == "dir" ? " -x -a " quoted("(__fish_complete_directories)") : \
          $7 == "pid" ? " -x -a " quoted("(__fish_complete_pids)") : $7 == "" ? " -x" : " -x -a " quoted($7), quoted($8)
    }'
  ;;
*) echo "$0: there is no shell '$1'" >&2; exit 2 ;;
esac
