/** How values are shown to people. */

/** Control characters of a server's text could change what a terminal shows. */
export function escapeControls(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is replaced
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (char) => {
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
}

/** One line without control characters. */
export function oneLine(text: string): string {
  return escapeControls(text.replaceAll(/\s+/g, ' ').trim());
}

export function money(microUsd: number | null | undefined): string {
  if (microUsd === null || microUsd === undefined) return '–';
  const usd = microUsd / 1_000_000;
  return `$${usd >= 1 || usd === 0 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}

export function count(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toLocaleString('en-US');
}

/** `12s`, `3m`, `2h`, `5d`: since this time, or until it. */
export function age(time: string | null | undefined, now: number): string {
  if (time === null || time === undefined) return '–';
  const ms = now - Date.parse(time);
  return ms < 0 ? `in ${span(-ms)}` : span(ms);
}

export function span(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 120) return `${Math.round(seconds)}s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)}h`;
  return `${Math.round(seconds / 86_400)}d`;
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads `30s`, `5m`, `2h`; returns undefined for another text. */
export function parseSpan(value: string): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value) ?? [];
  return unit === undefined ? undefined : Number(number) * (UNITS[unit] ?? 1);
}

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** East Asian wide characters and emoji occupy two columns. */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
// oxlint-disable-next-line no-control-regex -- colours begin with ESC
const COLOUR = /\u001b\[\d+m/g;

/** The columns that a text occupies on a terminal, without its colours. */
export function widthOf(text: string): number {
  const plain = text.replaceAll(COLOUR, '');
  // oxlint-disable-next-line no-control-regex -- a fast path for the usual case
  if (/^[\u0020-\u007e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of SEGMENTER.segment(plain)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** Cuts a text without colours to a number of columns. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let result = '';
  let width = 0;
  for (const { segment } of SEGMENTER.segment(text)) {
    width += widthOf(segment);
    if (width > columns - 1) break;
    result += segment;
  }
  return `${result}…`;
}

export function pad(text: string, columns: number, right = false): string {
  const missing = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return right ? missing + text : text + missing;
}

const COLOURS = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;
export type Colour = keyof typeof COLOURS;

export function paint(text: string, colour: Colour | undefined): string {
  return colour === undefined ? text : `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}

const GOOD = new Set([
  'active',
  'ok',
  'completed',
  'ample',
  'delivering',
  'delivered',
  'closed',
  'confirmed',
  'created',
  'idle',
  'ready',
]);
const BUSY = new Set([
  'running',
  'queued',
  'bidding',
  'announced',
  'awarded',
  'busy',
  'changed',
  'replaced',
  'registered',
]);
const WARNING = new Set([
  'suspect',
  'draining',
  'waiting',
  'low',
  'half_open',
  'retrying',
  'stopped',
  'warn',
  'paused',
  'expired',
]);
const BAD = new Set([
  'quarantined',
  'failed',
  'exhausted',
  'open',
  'refused',
  'revoked',
  'parked',
  'fail',
  'rejected',
  'cancelled',
]);

/** The colour of a state, which its word states too. */
export function stateColour(state: string): Colour | undefined {
  const [word = ''] = state.split(' ');
  if (GOOD.has(word)) return 'green';
  if (BUSY.has(word)) return 'cyan';
  if (WARNING.has(word)) return 'yellow';
  return BAD.has(word) ? 'red' : undefined;
}
