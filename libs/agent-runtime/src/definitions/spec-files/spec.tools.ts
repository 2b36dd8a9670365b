import { suggestion } from '../../tools/closest.name.js';
import type { DefinitionContent } from '../definition.js';
import { textList, withoutDuplicates } from './spec.fields.js';
import { shown, type SpecOptions, type SpecProblems } from './spec.js';

type ToolChoice = Pick<DefinitionContent, 'tools' | 'disallowedTools' | 'subagents'>;
type Fields = Readonly<Record<string, unknown>>;

/** The tool that replaces `Agent`, formerly `Task`, of Claude Code. */
const SPAWN_TOOL = 'spawn_subagent';
const SPAWN_NAMES = new Set(['Agent', 'Task']);
/** Matches invalid YAML, which a name never contains. If such a name were ignored, the tool that it means would stay allowed. */
const NOT_IN_NAMES = /[[\]{}"'&]|^\*./;
const MAX_ENTRIES = 1_000;
const MAX_NAMED = 10;

/** Reads `tools` and `disallowedTools`. A tool that Rollcall does not have is dropped with a warning; the agent never gets more tools. */
export function readTools(fields: Fields, problems: SpecProblems, options: SpecOptions): ToolChoice {
  const allowed = readAllowed(fields, problems, options);
  const disallowed = readDisallowed(fields, problems, options);
  return { ...allowed, ...disallowed };
}

function readAllowed(fields: Fields, problems: SpecProblems, options: SpecOptions): ToolChoice {
  const { tools: value } = fields;
  if (value === undefined) return {};
  if (value === null || value === '') {
    problems.warn('tools', 'tools has no value, so the agent inherits all tools. Write [] for no tools.');
    return {};
  }
  const entries = entriesOf('tools', value, problems);
  const spawn = entries.filter(({ name }) => SPAWN_NAMES.has(name));
  const subagents = allowedSubagents(spawn);
  if (entries.some(({ text }) => text === '*')) return subagents ? { subagents } : {};
  const others = entries.filter((entry) => !spawn.includes(entry));
  warnOfPatterns(others, problems);
  const names = others.filter(({ pattern }) => pattern === undefined).map(({ name }) => name);
  if (spawn.length > 0) names.push(SPAWN_TOOL);
  const tools = withoutUnknown('tools', names, problems, options);
  return { tools, ...(subagents && { subagents }) };
}

/** A pattern such as `Bash(git push *)` removes the whole tool. */
function readDisallowed(fields: Fields, problems: SpecProblems, options: SpecOptions): ToolChoice {
  const { disallowedTools: value } = fields;
  if (value === undefined || value === null) return {};
  const entries = entriesOf('disallowedTools', value, problems);
  if (entries.some(({ name }) => NOT_IN_NAMES.test(name)))
    problems.error('disallowedTools', 'disallowedTools cannot be read. Write a list, such as [http_fetch].');
  const isSpawn = ({ name }: Entry): boolean => SPAWN_NAMES.has(name) || name === SPAWN_TOOL;
  const names = entries.filter((entry) => !isSpawn(entry)).map(({ name }) => name);
  if (names.includes('*')) return { tools: [] };
  const kept = withoutUnknown('disallowedTools', names, problems, options);
  if (!entries.some(isSpawn)) return { disallowedTools: kept };
  const spawn = isKnown(SPAWN_TOOL, options) ? [SPAWN_TOOL] : [];
  return { disallowedTools: [...kept, ...spawn], subagents: [] };
}

interface Entry {
  readonly text: string;
  readonly name: string;
  readonly pattern?: string;
}

function entriesOf(key: string, value: unknown, problems: SpecProblems): Entry[] {
  const texts = textList(value);
  if (texts && texts.length <= MAX_ENTRIES) return withoutDuplicates(key, texts, problems).map(readEntry);
  problems.error(key, `${key} must be a list of at most ${MAX_ENTRIES} names, such as [http_fetch] or http_fetch.`);
  return [];
}

function readEntry(text: string): Entry {
  const open = text.indexOf('(');
  if (open === -1 || !text.endsWith(')')) return { text, name: text };
  return { text, name: text.slice(0, open).trim(), pattern: text.slice(open + 1, -1) };
}

/** `Agent(a, b)` allows only a and b. `Agent` alone allows all subagents. */
function allowedSubagents(entries: readonly Entry[]): string[] | undefined {
  const lists = entries.flatMap(({ pattern }) => (pattern === undefined ? [] : [textList(pattern) ?? []]));
  return lists.length === 0 ? undefined : unique(lists.flat());
}

/** Without its pattern, the tool would be allowed to do more than the author wants. */
function warnOfPatterns(entries: readonly Entry[], problems: SpecProblems): void {
  const limited = entries.filter(({ pattern }) => pattern !== undefined);
  if (limited.length === 0) return;
  const names = named(limited.map(({ text }) => shown(text)));
  problems.warn('tools', `Patterns are not supported, so these tools are dropped: ${names}.`);
}

function withoutUnknown(key: string, names: readonly string[], problems: SpecProblems, options: SpecOptions): string[] {
  const { knownTools = [], offTools } = options;
  const dropped = unique(names).filter((name) => !isKnown(name, options) || (key === 'tools' && name === 'mcp__*'));
  const off = dropped.filter((name) => offTools?.has(name));
  const unknown = dropped.filter((name) => !off.includes(name));
  if (unknown.length > 0) {
    const list = named(unknown.map((name) => shown(name) + suggestion(name, knownTools)));
    problems.warn(key, `These tools do not exist, so they are dropped from ${key}: ${list}.`);
  }
  if (off.length > 0) {
    const list = named(off.map((name) => `${name} (${offTools?.get(name)})`));
    problems.warn(key, `These tools are off, so they are dropped from ${key}: ${list}.`);
  }
  return unique(names).filter((name) => !dropped.includes(name));
}

/** Tools of MCP servers are checked when the definition is registered, because their servers report them later. */
function isKnown(name: string, { knownTools }: SpecOptions): boolean {
  return knownTools === undefined || name.startsWith('mcp__') || knownTools.includes(name);
}

function named(texts: readonly string[]): string {
  const rest = texts.length - MAX_NAMED;
  return texts.slice(0, MAX_NAMED).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
