import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Only our own code has source maps: the folder dist/. */
const COMPILED = new URL('../../../../', import.meta.url).href;

/**
 * Makes stack traces name the lines of the sources instead of those of dist/. A source map is read when a stack trace needs it.
 * The option of Node, --enable-source-maps, reads all of them at the start, which takes a tenth of the start and 20 MB.
 */
export function nameSourcesInStackTraces(): void {
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${withSource(frame)}`)].join('\n');
}

function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    return 'Error'; // such as an error whose message cannot be converted to text
  }
}

function withSource(frame: NodeJS.CallSite): string {
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  const text = String(frame);
  if (!file?.startsWith(COMPILED) || line === null || column === null) return text;
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!entry || !('originalSource' in entry)) return text;
  const source = fileURLToPath(new URL(entry.originalSource, file));
  const position = `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  return text.replace(`${file}:${line}:${column}`, () => position);
}

const maps = new Map<string, SourceMap | undefined>();

/** Returns undefined if the file has no source map. */
function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) maps.set(file, readMap(fileURLToPath(file)));
  return maps.get(file);
}

function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    return undefined;
  }
}
