import type { Failure } from '../failure.js';
import { failureText } from '../failure.js';
import type { Io } from '../io.js';
import { escapeControls } from './text.js';
import { fieldsText, type Layout, streamLines, tableText, type View } from './view.js';

export const FORMATS = ['table', 'wide', 'json', 'jsonl', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];

/**
 * Writes the result of a command in the chosen format: data on stdout, and everything else on stderr. In a structured format, stdout is
 * empty or can be parsed as a whole: one document for `json` and `yaml`, and one for each line of `jsonl`.
 */
export class Output {
  constructor(
    private readonly io: Io,
    readonly format: Format,
  ) {}

  /** Whether people read the output. */
  get isText(): boolean {
    return this.format === 'table' || this.format === 'wide';
  }

  get layout(): Layout {
    const { stdout, env } = this.io;
    const isTerminal = stdout.isTTY === true;
    return {
      wide: this.format === 'wide',
      columns: isTerminal ? (stdout.columns ?? 80) : undefined,
      colours: isTerminal && hasColours(env),
      now: Date.now(),
    };
  }

  async list<Item>(view: View<Item>, items: readonly Item[]): Promise<void> {
    if (this.isText && items.length === 0) return this.note(`No ${view.plural}.`);
    if (this.isText) return this.write(tableText(view, items, this.layout));
    await this.data(view, items, items);
  }

  /** One item. `details` are lines below its fields, for people. */
  async item<Item>(view: View<Item>, item: Item, details: readonly string[] = []): Promise<void> {
    if (!this.isText) return await this.data(view, item, [item]);
    const lines = details.map((line) => `${escapeControls(line)}\n`);
    this.write([fieldsText(view, item, this.layout), ...(lines.length > 0 ? ['\n', ...lines] : [])].join(''));
  }

  /** The effect of a change: one line for people, and the item for programs. */
  async done<Item>(message: string, view: Pick<View<Item>, 'name'>, item: Item): Promise<void> {
    if (this.isText) return this.write(`${escapeControls(message)}\n`);
    await this.data(view, item, [item]);
  }

  /** A text of the server, such as the answer of a run. */
  text(text: string): void {
    this.write(escapeControls(text));
  }

  /** Writes items while they arrive. */
  async stream<Item>(view: View<Item>, items: AsyncIterable<Item>): Promise<void> {
    const writer = await this.streamWriter(view);
    let isFirst = true;
    try {
      for await (const item of items) {
        this.write(writer.item(item, isFirst));
        isFirst = false;
      }
    } finally {
      this.write(writer.end(isFirst));
    }
  }

  /** For people, on stderr. */
  note(text: string): void {
    if (this.isText) this.io.stderr.write(`${escapeControls(text)}\n`);
  }

  async failure(failure: Failure): Promise<void> {
    const { stderr } = this.io;
    if (this.isText || this.format === 'name') return void stderr.write(failureText(failure));
    const { error } = failure;
    stderr.write(this.format === 'yaml' ? await yamlText({ error }) : `${jsonText({ error }, this.format)}\n`);
  }

  private async data<Item>(view: Pick<View<Item>, 'name'>, whole: unknown, items: readonly Item[]): Promise<void> {
    switch (this.format) {
      case 'json':
        return this.write(`${jsonText(whole, 'json')}\n`);
      case 'jsonl':
        return this.write(items.map((item) => `${jsonText(item, 'jsonl')}\n`).join(''));
      case 'yaml':
        return this.write(await yamlText(whole));
      case 'name':
        return this.write(items.map((item) => `${escapeControls(view.name(item))}\n`).join(''));
      case 'table':
      case 'wide':
        throw new Error('a text has no data');
    }
  }

  private async streamWriter<Item>(view: View<Item>): Promise<StreamWriter<Item>> {
    switch (this.format) {
      case 'json':
        return {
          item: (item, isFirst) => `${isFirst ? '[\n' : ',\n'}${JSON.stringify(item)}`,
          end: (isEmpty) => (isEmpty ? '[]\n' : '\n]\n'),
        };
      case 'yaml': {
        const { stringify } = await import('yaml');
        return { item: (item) => stringify([item]), end: (isEmpty) => (isEmpty ? '[]\n' : '') };
      }
      case 'jsonl':
        return { item: (item) => `${JSON.stringify(item)}\n`, end: () => '' };
      case 'name':
        return { item: (item) => `${escapeControls(view.name(item))}\n`, end: () => '' };
      case 'table':
      case 'wide': {
        const { head, row } = streamLines(view, this.layout);
        return { item: (item, isFirst) => (isFirst ? head : '') + row(item), end: () => '' };
      }
    }
  }

  private write(text: string): void {
    if (text !== '') this.io.stdout.write(text);
  }
}

interface StreamWriter<Item> {
  item(item: Item, isFirst: boolean): string;
  end(isEmpty: boolean): string;
}

function jsonText(value: unknown, format: Format): string {
  return format === 'jsonl' ? JSON.stringify(value ?? null) : JSON.stringify(value ?? null, undefined, 2);
}

async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(value ?? null);
}

/** https://no-color.org */
export function hasColours(env: Io['env']): boolean {
  return (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}
