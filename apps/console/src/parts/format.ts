/** The locale of the browser; some browsers have a name that Intl rejects. */
const LOCALE = Intl.NumberFormat.supportedLocalesOf(safe(navigator.language))[0] ?? 'en-US';

function safe(tag: string): string {
  try {
    return new Intl.Locale(tag).toString();
  } catch {
    return 'en-US';
  }
}

const WHOLE = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 0 });
const MOMENT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'medium' });
const DAY = new Intl.DateTimeFormat(LOCALE, { month: 'short', day: 'numeric' });
const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit' });

export function count(value: number): string {
  return WHOLE.format(value);
}

const DECIMAL = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 4 });

export function decimal(value: number): string {
  return DECIMAL.format(value);
}

/** Large amounts have two decimals, small ones as many as two digits need. */
export function money(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  const digits = usd === 0 || Math.abs(usd) >= 1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(Math.abs(usd))));
  return new Intl.NumberFormat(LOCALE, {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.max(2, digits + 1),
  }).format(usd);
}

export function moment(time: string | number | Date): string {
  return MOMENT.format(new Date(time));
}

export function day(time: string | number | Date): string {
  return DAY.format(new Date(time));
}

export function clock(time: string | number | Date): string {
  return CLOCK.format(new Date(time));
}

const UNITS: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** The largest unit alone, such as `2 min`. */
export function age(ms: number): string {
  const [name, each] = UNITS.find(([, size]) => ms >= size) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / each))} ${name}`;
}

export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const [[small, unit], each]: [[string, string], number] =
    ms < 3_600_000 ? [['min', 's'], 60_000] : [['h', 'min'], 3_600_000];
  const rest = Math.floor((ms % each) / (each / 60));
  return `${Math.floor(ms / each)} ${small}${rest === 0 ? '' : ` ${rest} ${unit}`}`;
}

/** Removes characters that change the direction of the text around them, so that a name cannot pretend to be another one. */
export function plain(text: string): string {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, '\ufffd');
}

export function words(code: string): string {
  return code.replaceAll('_', ' ').replaceAll('-', ' ');
}
