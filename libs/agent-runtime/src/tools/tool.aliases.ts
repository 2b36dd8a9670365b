/** The names that other systems use for tools of Rollcall, so that definitions that were written for them work unchanged (S4.10). */
export const TOOL_ALIASES: Readonly<Record<string, string>> = {
  Agent: 'spawn_subagent',
  Bash: 'bash',
  Edit: 'edit_file',
  Glob: 'list_files',
  Grep: 'search_files',
  LS: 'list_files',
  MultiEdit: 'edit_file',
  Read: 'read_file',
  Task: 'spawn_subagent',
  TodoWrite: 'todo_write',
  WebFetch: 'http_fetch',
  Write: 'write_file',
  glob: 'list_files',
  grep: 'search_files',
  ls: 'list_files',
};

/** The tool that a name means. A tool with exactly this name takes precedence over an alias. */
export function toolOf(
  name: string,
  exists: (tool: string) => boolean,
  aliases: Readonly<Record<string, string>>,
): string {
  if (exists(name) || !Object.hasOwn(aliases, name)) return name;
  return aliases[name] ?? name;
}
