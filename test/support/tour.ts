import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { READER_PAUSE_S } from './reader.js';

const MARK = '=== end of a block ===';
/** Pieces of an answer are not stored, so a reader who connects late does not receive them. */
const PIECES = /event: text\s*data: \{[^}]*\}/g;

/** A block of commands in a tour. Its comments are what the commands print; `…` stands for any text. */
interface TourBlock {
  readonly commands: string;
  readonly printed: string;
}

/** The commands of a page, with what they print. */
export class Tour {
  private constructor(private readonly blocks: readonly TourBlock[]) {}

  static of(page: string): Tour {
    const text = readFileSync(resolve(import.meta.dirname, '../..', page), 'utf8');
    return new Tour([...text.matchAll(/```sh\n([^]*?)```/g)].map(([, code = '']) => blockOf(code)));
  }

  /** Returns a shell script. It does not start Rollcall, as a reader does, but waits until the API is ready. */
  script(url: string): string {
    const wait = `until curl -sf -o /dev/null ${url}/health/ready; do sleep 0.1; done`;
    const commands = this.blocks.map((block) => block.commands.replace(/^.*npm start$/m, wait));
    const pause = READER_PAUSE_S > 0 ? `sleep ${READER_PAUSE_S}\n` : '';
    return commands.join(`\necho '${MARK}'\n${pause}`).replace('http://127.0.0.1:8080', url);
  }

  /** The blocks whose output differs from the page, with their output. Ids, times and larger numbers may differ. */
  differences(output: string): string[] {
    const outputs = output.split(MARK);
    return this.blocks.flatMap(({ commands, printed }, index) => {
      const actual = outputs[index] ?? '(not executed)';
      return patternOf(printed).test(stable(actual)) ? [] : [`${commands}\nprints:\n${actual}`];
    });
  }
}

function blockOf(code: string): TourBlock {
  const lines = code.split('\n');
  const isComment = (line: string): boolean => /^#( |$)/.test(line);
  return {
    commands: lines.filter((line) => !isComment(line)).join('\n'),
    printed: lines
      .filter(isComment)
      .map((line) => line.slice(2))
      .join('\n'),
  };
}

function patternOf(printed: string): RegExp {
  const parts = stable(printed).split('…');
  return new RegExp(`^${parts.map((part) => RegExp.escape(part)).join('[^]*?')}$`);
}

function stable(text: string): string {
  return text
    .replaceAll(PIECES, '')
    .replaceAll(/"key:\w{10}/g, '"key:')
    .replaceAll(/[0-9a-f]{32}/g, 'id')
    .replaceAll(/\d{2,}/g, '00')
    .replaceAll(/\s+/g, '');
}
