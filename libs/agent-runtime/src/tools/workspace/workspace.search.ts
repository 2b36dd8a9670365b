import { setImmediate } from 'node:timers/promises';
import { RE2JS } from 're2js';
import {
  OMITTED,
  WorkspaceError,
  type WorkspaceFile,
  type WorkspaceFiles,
  type WorkspaceFolder,
} from './workspace.folder.js';

export interface SearchLimits {
  readonly maxMatches: number;
  /** The size of all files that one search reads. */
  readonly maxBytes: number;
}

export const DEFAULT_SEARCH_LIMITS: SearchLimits = { maxMatches: 200, maxBytes: 32 * 1_024 * 1_024 };

export interface LineMatch {
  readonly path: string;
  /** The first line has the number 1. */
  readonly line: number;
  readonly text: string;
}

export interface FoundLines {
  readonly matches: readonly LineMatch[];
  /** Why there may be more matches. */
  readonly cut?: string;
}

/** What a model reads if a program has made more files than a workspace may have. */
export const TOO_MANY_FILES = 'The workspace has too many files, and some were left out. Delete some.';

const MAX_PATTERN = 1_000;
const MAX_GLOB = 200;
const MAX_WILDCARDS = 20;
/** Only the beginning of a longer line is searched. */
const MAX_LINE = 2_000;
const MAX_SHOWN = 300;
/** After this time, other work of the process gets its turn. */
const TURN_MS = 10;
/** A line is searched in one turn, and its time grows with the repetitions of the pattern. */
const MAX_REPETITION = 100;

/**
 * Finds the lines that match a regular expression. The expression needs linear time, and the search gives way to other work of the process, so no
 * pattern and no file delays other callers.
 */
export async function searchFiles(
  folder: WorkspaceFolder,
  { pattern, glob, ignoreCase }: { pattern: string; glob?: string; ignoreCase?: boolean },
  signal: AbortSignal,
  limits: SearchLimits = DEFAULT_SEARCH_LIMITS,
): Promise<FoundLines> {
  const expression = compiled(pattern, ignoreCase);
  const turn = new Turn(signal);
  const matches: LineMatch[] = [];
  let left = limits.maxBytes;
  const { files, isComplete } = await matchingFiles(folder, glob, signal);
  for (const { path, bytes } of files) {
    if ((left -= bytes) < 0) return { matches, cut: `Only the first ${limits.maxBytes} bytes were searched.` };
    const lines = (await textOf(folder, path))?.split('\n') ?? [];
    for (const [index, line] of lines.entries()) {
      await turn.yieldIfDue();
      const text = line.slice(0, MAX_LINE);
      if (!expression.matcher(text).find()) continue;
      if (matches.length === limits.maxMatches) return { matches, cut: `Only the first ${matches.length} matches.` };
      matches.push({ path, line: index + 1, text: text.trimEnd().slice(0, MAX_SHOWN) });
    }
  }
  return isComplete ? { matches } : { matches, cut: TOO_MANY_FILES };
}

/**
 * The files whose path matches the pattern. Folders of tools are left out, unless the pattern names them. It gives way to other work of the
 * process, too.
 */
export async function matchingFiles(
  folder: WorkspaceFolder,
  glob: string | undefined,
  signal: AbortSignal,
): Promise<WorkspaceFiles> {
  const isWanted = globMatcher(glob);
  const turn = new Turn(signal);
  const found: WorkspaceFile[] = [];
  const { files, isComplete } = await folder.files(OMITTED.filter((name) => glob?.includes(name) !== true));
  for (const file of files) {
    await turn.yieldIfDue();
    if (isWanted(file.path)) found.push(file);
  }
  return { files: found, isComplete };
}

/** A part of a long work that gives way to other work when its time has passed, and ends with the run. */
class Turn {
  private since = performance.now();

  constructor(private readonly signal: AbortSignal) {}

  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.since <= TURN_MS) return;
    await setImmediate();
    this.signal.throwIfAborted();
    this.since = performance.now();
  }
}

/** Files that are not texts, or that were removed meanwhile, have no lines. */
async function textOf(folder: WorkspaceFolder, path: string): Promise<string | undefined> {
  try {
    return await folder.readText(path);
  } catch (error) {
    if (error instanceof WorkspaceError) return undefined;
    throw error;
  }
}

function compiled(pattern: string, ignoreCase = false): RE2JS {
  if (pattern.length > MAX_PATTERN) throw new WorkspaceError(`A pattern may have ${MAX_PATTERN} characters.`);
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d+))?/g)].flatMap(([, least, most]) => [least, most]);
  if (counts.some((count) => Number(count ?? 0) > MAX_REPETITION))
    throw new WorkspaceError(`A part of a pattern may be repeated ${MAX_REPETITION} times. Use * or + instead.`);
  try {
    return RE2JS.compile(RE2JS.translateRegExp(pattern), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  } catch (error) {
    const reason = (error as Error).message;
    throw new WorkspaceError(
      `The pattern is not a regular expression in the syntax of RE2, which has no look-around and no back references: ${reason}`,
      { cause: error },
    );
  }
}

/**
 * Matches whole paths: `*` and `?` stay within a name, `**` spans folders, `{a,b}` is a choice. A pattern without `/` applies in every folder, as
 * `*.ts` does. Without a pattern, every path matches.
 */
export function globMatcher(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined || glob === '') return () => true;
  if (glob.length > MAX_GLOB || (glob.match(/[*?{]/g) ?? []).length > MAX_WILDCARDS)
    throw new WorkspaceError(`A file pattern may have ${MAX_GLOB} characters and ${MAX_WILDCARDS} wildcards.`);
  const relative = glob.replace(/^\.?\//, '');
  const source = globSource(relative.includes('/') ? relative : `**/${relative}`);
  const expression = RE2JS.compile(`^(?:${source})$`);
  return (path) => expression.matcher(path).find();
}

const GLOB_PARTS = /\*\*\/|\*\*|\*|\?|[{},]|[^*?{},]+/g;

function globSource(glob: string): string {
  let open = 0;
  const parts = (glob.match(GLOB_PARTS) ?? []).map((part) => {
    if (part === '**/') return '(?:[^/]+/)*';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part === '{') {
      open += 1;
      return '(?:';
    }
    if (part === '}' && open > 0) {
      open -= 1;
      return ')';
    }
    return part === ',' && open > 0 ? '|' : RE2JS.quote(part);
  });
  if (open > 0) throw new WorkspaceError('The pattern has a { without its }.');
  return parts.join('');
}
