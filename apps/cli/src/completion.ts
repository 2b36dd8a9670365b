import type { Command } from './command.js';
import { flagsOf, GLOBAL_OPTIONS, optionsOf } from './program.js';

export type Shell = 'bash' | 'zsh' | 'fish';

/** The script that completes commands, options and their choices. It is made from the table, and starts no process. */
export function completionFor(shell: Shell, commands: readonly Command[]): string {
  return shell === 'fish' ? fish(commands) : shell === 'zsh' ? zsh(commands) : bash(commands);
}

interface Words {
  /** The words before, such as `agents`; empty at the beginning. */
  readonly after: string;
  readonly words: readonly string[];
}

/** What can follow: the commands, and the options of each command. */
function completions(commands: readonly Command[]): Words[] {
  const groups = Map.groupBy(commands, ({ name }) => name.split(' ')[0] ?? '');
  const first: Words = { after: '', words: [...groups.keys()] };
  const second = [...groups].filter(([, rows]) => rows.some(({ name }) => name.includes(' ')));
  return [
    first,
    ...second.map(([after, rows]) => ({ after, words: rows.map(({ name }) => name.split(' ')[1] ?? '') })),
    ...commands.map((row) => ({ after: row.name, words: longOptions(row) })),
  ];
}

function longOptions(row: Command): string[] {
  const options = Object.entries({ ...optionsOf(row), ...GLOBAL_OPTIONS });
  return ['--help', ...options.map(([name, spec]) => longFlag(flagsOf(name, spec)))];
}

function longFlag(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

/** The choices of options, for all commands: equal options have equal choices. */
function choices(commands: readonly Command[]): [option: string, values: readonly string[]][] {
  const specs = [...Object.entries(GLOBAL_OPTIONS), ...commands.flatMap((row) => Object.entries(optionsOf(row)))];
  const found = new Map<string, Set<string>>();
  for (const [name, spec] of specs) {
    if (!('choices' in spec) || !spec.choices) continue;
    const option = longFlag(flagsOf(name, spec));
    found.set(option, new Set([...(found.get(option) ?? []), ...spec.choices]));
  }
  return [...found].map(([option, values]) => [option, [...values]]);
}

function bash(commands: readonly Command[]): string {
  const cases = completions(commands).map(({ after, words }) => `    '${after}') words='${words.join(' ')}' ;;`);
  const values = choices(commands).map(
    ([option, list]) => `    ${option}) COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$current")); return ;;`,
  );
  return `# Completion of rollcall for bash.
_rollcall() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' word words=''
  case "$previous" in
    -o) previous=--output ;;
  esac
  case "$previous" in
${values.join('\n')}
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    case "$command" in *' '*) break ;; esac
    command="\${command:+$command }$word"
  done
  while :; do
    case "$command" in
${cases.map((line) => `  ${line}`).join('\n')}
    esac
    [[ -n $words || $command != *' '* ]] && break
    command="\${command% *}"
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _rollcall rollcall
`;
}

/** zsh can use the completion for bash. */
function zsh(commands: readonly Command[]): string {
  return `# Completion of rollcall for zsh.
autoload -Uz bashcompinit && bashcompinit
${bash(commands)}`;
}

function fish(commands: readonly Command[]): string {
  const groups = Map.groupBy(commands, ({ name }) => name.split(' ')[0] ?? '');
  const lines = [...groups].flatMap(([first, rows]) =>
    [`complete -c rollcall -n __fish_use_subcommand -f -a ${first}`].concat(
      rows.flatMap((row) => fishLines(first, row)),
    ),
  );
  const globals = Object.entries(GLOBAL_OPTIONS).map(
    ([name, spec]) => `complete -c rollcall ${fishOption(name, spec)}`,
  );
  return `# Completion of rollcall for fish.\n${[...lines, ...globals].join('\n')}\n`;
}

function fishLines(first: string, row: Command): string[] {
  const second = row.name.split(' ')[1];
  const seen = `__fish_seen_subcommand_from ${first}`;
  const applies = second === undefined ? seen : `${seen}; and __fish_seen_subcommand_from ${second}`;
  const word =
    second === undefined ? [] : [`complete -c rollcall -n '${seen}' -f -a ${second} -d ${quoted(row.about)}`];
  const options = Object.entries(optionsOf(row)).map(
    ([name, spec]) => `complete -c rollcall -n '${applies}' ${fishOption(name, spec)}`,
  );
  return [...word, ...options];
}

function fishOption(name: string, spec: ReturnType<typeof optionsOf>[string]): string {
  const short = spec.short === undefined ? '' : `-s ${spec.short} `;
  const values =
    'choices' in spec && spec.choices ? ` -x -a '${spec.choices.join(' ')}'` : spec.kind === 'flag' ? '' : ' -r';
  return `${short}-l ${longFlag(flagsOf(name, spec)).slice(2)}${values} -d ${quoted(spec.about)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
