/** The input after validation, or a text that tells the model what to correct. */
export type ParsedInput =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: string };

/** Describes the input of a tool to a model, and checks what the model sends. */
export interface InputReader {
  readonly inputSchema: Readonly<Record<string, unknown>>;
  parse(input: unknown): ParsedInput | Promise<ParsedInput>;
}

const MAX_PROBLEMS = 10;
const MAX_CHARS = 300;

/** Joins the problems of an input into one text for the model, for example `city: Required; days: Too big`. */
export function joinProblems(problems: readonly { path: string; message: string }[]): string {
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`).slice(0, MAX_CHARS));
  const more = problems.length - shown.length;
  return more > 0 ? `${shown.join('; ')}; and ${more} more` : shown.join('; ');
}
