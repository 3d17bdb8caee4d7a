/**
 * Completion scripts for shells. They ask the program itself for words, so that they are never out
 * of date; loading costs nothing.
 */

export const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

/**
 * Returns the completion script for a shell.
 *
 * @param name name of the program, as typed on the command line
 */
export function completionScript(shell: Shell, name: string): string {
  const identifier = name.replace(/\W/g, '_');
  return { bash, zsh, fish, powershell }[shell](name, `_${identifier}_complete`);
}

/** The first line of the program's answer names further completions to add. */
const bash = (
  name: string,
  fn: string,
) => `# bash completion of ${name}: source <(${name} completion bash)
${fn}() {
  local line first=1 also=nothing
  # = and : cut words for bash alone: put together what belongs together.
  local words=() word i n=0 before=""
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    if ((n > 0)) && { [[ "$word" == [=:]* ]] || [[ "$before" == *[=:] ]]; } &&
      [[ "$COMP_LINE" == *"$before$word"* ]]; then
      words[n - 1]="$before$word"
    else
      words[n++]="$word"
    fi
    before="\${words[n - 1]}"
  done
  local current="$before" cut=""
  # What stands before the last = or : stays where it is.
  if [[ "$current" == *[=:]* && "$COMP_WORDBREAKS" == *[=:]* ]]; then
    cut="\${current%"\${current##*[=:]}"}"
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    if ((first)); then
      also="$line"
      first=0
    else
      line="\${line%%$'\\t'*}"
      COMPREPLY+=("\${line#"$cut"}")
    fi
  done < <(${name} __complete -- "\${words[@]}" 2>/dev/null)
  case "$also" in
    files) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${current#"$cut"}") ;;
    folders) compopt -o filenames 2>/dev/null; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "\${current#"$cut"}") ;;
  esac
}
complete -F ${fn} ${name}
`;

const zsh = (name: string, fn: string) => `#compdef ${name}
# zsh completion of ${name}: ${name} completion zsh > "\${fpath[1]}/_${name}"
${fn}() {
  local -a lines candidates
  local line also text about
  lines=("\${(@f)$(${name} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  also="\${lines[1]}"
  for line in "\${(@)lines[2,-1]}"; do
    [[ -z "$line" ]] && continue
    # A colon ends the candidate for _describe.
    text="\${line%%$'\\t'*}"
    text="\${text//:/\\\\:}"
    about="\${line#*$'\\t'}"
    candidates+=("$text\${about:+:$about}")
  done
  (( \${#candidates} )) && _describe '${name}' candidates
  case "$also" in
    files) _files ;;
    folders) _files -/ ;;
  esac
}
if [ "\${funcstack[1]}" = "_${name}" ]; then
  ${fn} "$@"
else
  compdef ${fn} ${name}
fi
`;

const fish = (
  name: string,
  fn: string,
) => `# fish completion of ${name}: ${name} completion fish | source
function ${fn}
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (${name} __complete -- $words[2..-1] 2>/dev/null)
    for line in $lines[2..-1]
        echo $line
    end
    switch "$lines[1]"
        case files
            __fish_complete_path (commandline -ct)
        case folders
            __fish_complete_directories (commandline -ct)
    end
end
complete -c ${name} -f -a '(${fn})'
`;

/**
 * PowerShell replaces the word at the cursor. Without candidates it completes the names of files by itself, folders
 * included. Before version 7.3 it gives programs no empty words unless they are quoted once more; scripts, as npm's
 * start the program, would not get a bare `--`.
 */
const powershell = (
  name: string,
  fn: string,
) => `# PowerShell completion of ${name}: ${name} completion powershell | Out-String | Invoke-Expression
$${fn} = {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') {
        $legacy = $PSVersionTable.PSVersion -lt [version]'7.3' -or $PSNativeCommandArgumentPassing -eq 'Legacy'
        $words += if ($legacy) { '""' } else { '' }
    }
    ${name} __complete '--' $words 2>$null | Select-Object -Skip 1 | Where-Object { $_ } | ForEach-Object {
        $text, $about = $_ -split "\t", 2
        if (-not $about) { $about = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $about)
    }
}
Register-ArgumentCompleter -Native -CommandName '${name}' -ScriptBlock $${fn}
`;
