import { recoverHeader } from './header.recovery.js';
import { readYaml } from './header.yaml.js';
import { SpecFileError } from './spec-file.error.js';
import type { SpecProblem } from './spec.problems.js';

export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after the front matter, without surrounding blank lines. */
  readonly body: string;
  readonly warnings: readonly SpecProblem[];
}

const FENCE = /^---[ \t]*$/;
const MAX_HEADER_LENGTH = 65_536;
/** The header begins after the fence, on the second line of the file. */
const FIRST_HEADER_LINE = 2;

/**
 * Reads Markdown with YAML front matter. Many files in use are not valid YAML, for example because a description contains
 * an unquoted colon. Such a header is read again, key by key, with a warning for each value that is not valid YAML.
 */
export function parseFrontMatter(text: string, knownKeys: readonly string[]): FrontMatter {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  if (!FENCE.test(lines[0] ?? ''))
    throw new SpecFileError(1, 'The first line must be ---, the start of the front matter.');
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) throw new SpecFileError(1, 'The front matter has no end. Add a line with --- after it.');
  const header = lines.slice(1, end);
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (header.join('\n').length > MAX_HEADER_LENGTH)
    throw new SpecFileError(FIRST_HEADER_LINE, `The front matter has more than ${MAX_HEADER_LENGTH} characters.`);
  const yaml = readYaml(header.join('\n'), FIRST_HEADER_LINE);
  if (yaml.ok) return { fields: yaml.fields, body, warnings: [] };
  const recovered = recoverHeader(header, FIRST_HEADER_LINE, knownKeys);
  if (recovered) return { ...recovered, body };
  throw new SpecFileError(yaml.line, `The front matter is not valid YAML: ${yaml.problem}`);
}
