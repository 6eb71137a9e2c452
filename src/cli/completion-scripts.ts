import type { CommandFacts, SettingFlag } from './command-facts.ts';

/** The tables that a completion script is made from. */
export interface CompletionTables {
  readonly commands: readonly CommandFacts[];
  readonly settings: readonly SettingFlag[];
  /** Methods of JSON-RPC, for `obverse call`. */
  readonly methods: readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** Returns the completion script of a shell. */
export function completionScript(shell: (typeof SHELLS)[number], tables: CompletionTables): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](tables);
}

/** Topics of `obverse help` besides the commands. */
const TOPICS = ['config'];
const TOP_FLAGS = ['--help', '--version'];

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function wordsOf({ name, words }: CommandFacts, { commands, methods }: CompletionTables): readonly string[] {
  if (name === 'call') return methods;
  if (name === 'help') return [...commands.map((each) => each.name), ...TOPICS];
  return words;
}

function flagsOf({ flags, hasSettings }: CommandFacts, { settings }: CompletionTables): string[] {
  const all = [...flags.map((flag) => flag.name), ...(hasSettings ? settings.map((flag) => flag.name) : [])];
  return [...new Set(all), '--help'];
}

/** Flags whose value is a file or a folder. */
function pathFlags({ commands, settings }: CompletionTables): string[] {
  const own = commands.flatMap(({ flags }) => flags).filter(({ value }) => value === 'FILE' || value === 'PATH');
  const set = settings.filter(({ kind }) => kind === 'path');
  return [...new Set([...own, ...set].map(({ name }) => name))];
}

/** Flags whose value is text without a list of words. */
function textFlags({ commands, settings }: CompletionTables): string[] {
  const own = commands
    .flatMap(({ flags }) => flags)
    .filter(({ value }) => value !== null && value !== 'FILE' && value !== 'PATH');
  const set = settings.filter(({ kind }) => kind === 'text');
  const words = new Set(settings.filter(({ kind }) => kind === 'words').map(({ name }) => name));
  return [...new Set([...own, ...set].map(({ name }) => name))].filter((name) => !words.has(name));
}

function bashScript(tables: CompletionTables): string {
  const { commands, settings } = tables;
  const choices = settings.filter(({ choices }) => choices.length > 0);
  const cases = commands.map((command) => {
    const words = wordsOf(command, tables);
    return `    ${command.name})
      words=${quoted(words.join(' '))}
      flags=${quoted(flagsOf(command, tables).join(' '))}
      files=${command.hasFiles ? 'yes' : ''}
      ;;`;
  });
  const values = choices.map(({ name, choices: allowed, kind }) =>
    kind === 'switch'
      ? ''
      : `    ${name}) COMPREPLY=($(compgen -W ${quoted(allowed.join(' '))} -- "$cur")); return ;;\n`,
  );
  const switches = choices.filter(({ kind }) => kind === 'switch').map(({ name }) => name);
  return `# Completion of obverse for bash: obverse completion bash > /etc/bash_completion.d/obverse
_obverse() {
  local cur=\${COMP_WORDS[COMP_CWORD]} flag='' given=0 i words='' flags='' files=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W ${quoted([...commands.map(({ name }) => name), ...TOP_FLAGS].join(' '))} -- "$cur"))
    return
  fi
  # The shell makes three words of --flag=value.
  if [ "$cur" = '=' ]; then
    flag=\${COMP_WORDS[COMP_CWORD - 1]} cur=''
  elif [ "\${COMP_WORDS[COMP_CWORD - 1]}" = '=' ]; then
    flag=\${COMP_WORDS[COMP_CWORD - 2]}
    case $flag in
    ${switches.join('|')}) COMPREPLY=($(compgen -W 'true false' -- "$cur")); return ;;
    esac
  else
    flag=\${COMP_WORDS[COMP_CWORD - 1]}
  fi
  case $flag in
${values.join('')}    ${pathFlags(tables).join('|')}) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${textFlags(tables).join('|')}) return ;;
  esac
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
  esac
  if [ "\${cur:0:1}" = - ]; then
    COMPREPLY=($(compgen -W "$flags" -- "$cur"))
    return
  fi
  # A word of a command is completed once; arguments follow it.
  for ((i = 2; i < COMP_CWORD; i++)); do
    case " $words " in *" \${COMP_WORDS[i]} "*) given=1 ;; esac
  done
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  elif [ "$given" -eq 0 ]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -F _obverse obverse
`;
}

function zshScript(tables: CompletionTables): string {
  const { commands, settings } = tables;
  const described = (name: string, help: string) => quoted(`${name.replaceAll(':', '\\:')}:${help}`);
  const values = settings.filter(({ kind }) => kind === 'words');
  const cases = commands.map((command) => {
    const settingHelps = command.hasSettings ? settings.map(({ name, help }) => described(name, help)) : [];
    const own = command.flags.map(({ name, help }) => described(name, help));
    return `    ${command.name})
      words_of=(${wordsOf(command, tables).map(quoted).join(' ')})
      flags_of=(${[...own, ...settingHelps].join(' ')})
      ;;`;
  });
  return `#compdef obverse
# Completion of obverse for zsh: obverse completion zsh > "\${fpath[1]}/_obverse"
_obverse() {
  local -a commands words_of flags_of
  commands=(${commands.map(({ name, summary }) => described(name, summary)).join(' ')})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case \${words[CURRENT-1]} in
${values.map(({ name, choices }) => `    ${name}) compadd -- ${choices.map(quoted).join(' ')}; return ;;`).join('\n')}
    ${pathFlags(tables).join('|')}) _files; return ;;
    ${textFlags(tables).join('|')}) return ;;
  esac
  case \${words[2]} in
${cases.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then
    _describe flag flags_of
  elif (( \${#words_of} )); then
    compadd -a words_of
  else
    _files
  fi
}
if [ "\${funcstack[1]}" = _obverse ]; then _obverse "$@"; else compdef _obverse obverse; fi
`;
}

function fishScript(tables: CompletionTables): string {
  const { commands, settings } = tables;
  const escaped = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = commands.flatMap((command) => {
    const inside = `-n ${escaped(`__fish_seen_subcommand_from ${command.name}`)}`;
    const words = wordsOf(command, tables);
    return [
      `complete -c obverse -n __fish_use_subcommand -f -a ${command.name} -d ${escaped(command.summary)}`,
      ...(words.length > 0 ? [`complete -c obverse ${inside} -f -a ${escaped(words.join(' '))}`] : []),
      ...command.flags.map(({ name, value, help }) => {
        const long = name.slice(2);
        const argument = value === null ? '' : value === 'FILE' || value === 'PATH' ? ' -r -F' : ' -x';
        return `complete -c obverse ${inside} -l ${long}${argument} -d ${escaped(help)}`;
      }),
    ];
  });
  const names = commands.filter(({ hasSettings }) => hasSettings).map(({ name }) => name);
  const inside = `-n ${escaped(`__fish_seen_subcommand_from ${names.join(' ')}`)}`;
  const flags = settings.map(({ name, kind, choices, help }) => {
    const argument = choices.length > 0 ? ` -x -a ${escaped(choices.join(' '))}` : kind === 'path' ? ' -r -F' : ' -x';
    return `complete -c obverse ${inside} -l ${name.slice(2)}${argument} -d ${escaped(help)}`;
  });
  return `# Completion of obverse for fish: obverse completion fish > ~/.config/fish/completions/obverse.fish
${[...lines, ...flags].join('\n')}
`;
}
