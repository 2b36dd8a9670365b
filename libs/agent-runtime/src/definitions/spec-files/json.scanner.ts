/** Matches the next token of JSON, after white space. A string contains no control characters. */
const TOKEN =
  /[ \t\r\n]*(?:[{}[\],:]|"[ !#-[\]-\uFFFF]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[ !#-[\]-\uFFFF]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?|true|false|null)/y;

type Expected = 'value' | 'first item' | 'key' | 'first key' | 'colon' | 'separator' | 'end';

/**
 * Finds lines that JSON.parse does not report: the line of the first syntax error, and the lines of the keys of the first two
 * levels. It also finds keys of the first level that occur twice; JSON.parse returns only the last value of such a key.
 */
export class JsonScanner {
  readonly duplicates = new Set<string>();
  private readonly offsets = new Map<string, number>();
  private readonly open: string[] = [];
  private expected: Expected = 'value';
  private firstLevelKey = '';
  private errorOffset = 0;
  private lineStarts: number[] | undefined;

  constructor(private readonly text: string) {
    this.scan();
  }

  /** True if the text is valid JSON. */
  get isComplete(): boolean {
    return this.expected === 'end' && this.errorOffset === this.text.length;
  }

  /** The line where a text that is not valid JSON becomes invalid. */
  get errorLine(): number {
    return this.lineAt(this.errorOffset);
  }

  /** The line of a key of the first level, or of a key inside it. */
  lineOf(key: string, inner?: string): number {
    const offset = this.offsets.get(pathOf(key, inner)) ?? this.offsets.get(pathOf(key));
    return this.lineAt(offset ?? 0);
  }

  private scan(): void {
    let offset = 0;
    for (;;) {
      TOKEN.lastIndex = offset;
      const token = TOKEN.exec(this.text)?.[0].trimStart();
      if (token === undefined || !this.accept(token, TOKEN.lastIndex - token.length)) break;
      offset = TOKEN.lastIndex;
    }
    const rest = this.text.slice(offset).trimStart();
    this.errorOffset = this.text.length - rest.length;
  }

  /** Returns false if the token is not allowed at this place. */
  private accept(token: string, offset: number): boolean {
    const { expected } = this;
    if (expected === 'end') return false;
    if (expected === 'colon') return token === ':' && this.expect('value');
    if (token === '}' || token === ']') return this.close(token);
    if (expected === 'separator') return token === ',' && this.expect(this.open.at(-1) === '{' ? 'key' : 'value');
    if (expected === 'key' || expected === 'first key') return token.startsWith('"') && this.onKey(token, offset);
    if (token === '{' || token === '[') {
      this.open.push(token);
      return this.expect(token === '{' ? 'first key' : 'first item');
    }
    return token !== ',' && token !== ':' && this.onValue();
  }

  private close(token: string): boolean {
    const isObject = this.open.at(-1) === '{';
    const isEmpty = this.expected === (isObject ? 'first key' : 'first item');
    if (token !== (isObject ? '}' : ']') || this.open.length === 0) return false;
    if (!isEmpty && this.expected !== 'separator') return false;
    this.open.pop();
    return this.onValue();
  }

  private onValue(): boolean {
    return this.expect(this.open.length === 0 ? 'end' : 'separator');
  }

  private onKey(token: string, offset: number): boolean {
    if (this.open.length <= 2 && !this.open.includes('[')) this.addKey(JSON.parse(token) as string, offset);
    return this.expect('colon');
  }

  private addKey(key: string, offset: number): void {
    const isFirstLevel = this.open.length === 1;
    if (isFirstLevel) this.firstLevelKey = key;
    const path = isFirstLevel ? pathOf(key) : pathOf(this.firstLevelKey, key);
    if (isFirstLevel && this.offsets.has(path)) this.duplicates.add(key);
    this.offsets.set(path, offset);
  }

  private expect(next: Expected): true {
    this.expected = next;
    return true;
  }

  private lineAt(offset: number): number {
    this.lineStarts ??= [...this.text.matchAll(/\r\n|\n|\r/g)].map(
      ({ index, 0: lineBreak }) => index + lineBreak.length,
    );
    let low = 0;
    let high = this.lineStarts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.lineStarts[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return low + 1;
  }
}

function pathOf(...keys: (string | undefined)[]): string {
  return JSON.stringify(keys.filter((key) => key !== undefined));
}
