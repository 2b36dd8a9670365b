import { isIP } from 'node:net';
import { z } from 'zod';
import { closestName } from '#rollcall/agent-runtime';

/** What the documentation and the error messages contain about a setting. */
export interface SettingInfo {
  env: string;
  about: string;
  /** The valid values, as the end of the sentence "expected …". */
  expects: string;
  /** If true, the value never appears in messages or logs. */
  secret?: boolean;
  /** The default as a user writes it, when the parsed form is unclear. */
  defaultText?: string;
  /** How many levels of the value are merged with the value of the previous source. If absent, the previous value is replaced. */
  mergedLevels?: number;
  /** Reads the text of an environment variable whose value is merged. If absent, the text is JSON. */
  parse?: (text: string) => unknown;
}

export function setting<T extends z.ZodType>(schema: T, facts: SettingInfo): T {
  return schema.meta({ ...facts });
}

export interface SettingEntry extends SettingInfo {
  path: string[];
  fallback: unknown;
}

/** Lists all settings of a schema in the order of their definition. */
export function listSettings(schema: z.ZodType, path: string[] = []): SettingEntry[] {
  if (schema instanceof z.ZodPrefault) return listSettings(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, inner]) => listSettings(inner as z.ZodType, [...path, key]));
  }
  const facts = schema.meta() as unknown as SettingInfo;
  const fallback = schema.safeParse(undefined);
  return [{ ...facts, path, fallback: fallback.success ? fallback.data : undefined }];
}

/** The `expects` text of every duration. */
export const DURATION_FORMAT = 'a duration such as 500ms, 30s, 5m or 24h';
/** The `expects` text of every list of networks. */
export const NETWORKS_FORMAT = 'addresses or CIDR ranges separated by commas, such as 10.0.0.0/8';

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES: Record<string, number> = { '': 1, B: 1, KB: 1_024, MB: 1_048_576 };

/** Parses `30s`, `250ms` or `24h` to milliseconds. A number without a unit is rejected, because it is ambiguous. */
export function duration(fallback: string) {
  return quantity(/^(\d+)(ms|s|m|h|d)$/, UNITS, fallback);
}

/** Parses `256KB`, `1MB` or `1000` to bytes. */
export function byteSize(fallback: string) {
  return quantity(/^(\d+) ?(KB|MB|B|)$/i, SIZES, fallback);
}

function quantity(pattern: RegExp, units: Record<string, number>, fallback: string) {
  return z
    .union([z.string(), z.number()])
    .default(fallback)
    .transform((text, context) => {
      const [, amount, unit = ''] = pattern.exec(String(text).trim()) ?? [];
      const factor = units[unit] ?? units[unit.toUpperCase()];
      if (amount !== undefined && factor !== undefined) return Number(amount) * factor;
      context.addIssue({ code: 'custom', message: 'not a quantity with its unit' });
      return z.NEVER;
    });
}

/** A list in YAML, or text separated by commas. */
export function list(fallback: string[]) {
  const split = (text: string): string[] =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);
  return z.union([z.array(z.string()), z.string().transform(split)]).default(fallback);
}

export function networks() {
  return list([]).refine((all) => all.every(isNetwork));
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (!family || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export function integer(min: number, max: number, fallback: number) {
  const digits = z.string().trim().regex(/^\d+$/).transform(Number);
  return z.union([z.number(), digits]).pipe(z.number().int().min(min).max(max)).default(fallback);
}

/** Settings by name that are one setting: a group in YAML, or text that `pairs` parses. A missing name keeps its default. */
export function byName<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z
    .record(z.string(), z.unknown())
    .default({})
    .transform((given, context): unknown => {
      const unknown = Object.keys(given).filter((name) => !known.includes(name));
      for (const name of unknown)
        context.addIssue({ code: 'custom', message: unknownName(name, known), params: EXPLAINED });
      return given;
    })
    .pipe(z.object(shape));
}

/** The parameters of an issue whose message is for the operator. */
export const EXPLAINED = { explained: true };

/** Parses text such as `agents=10,webhooks=5`. Text of another form, or with a name twice, is kept, so that the schema reports it. */
export function pairs(text: string): Record<string, string> | string {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
    .map((item) => /^(\w+) *= *(\S+)$/.exec(item));
  const values = new Map(items.map((item) => [item?.[1] ?? '', item?.[2] ?? '']));
  return items.includes(null) || values.size < items.length ? text : Object.fromEntries(values);
}

function unknownName(name: string, known: readonly string[]): string {
  const closest = closestName(name, known);
  return `there is no ${name}; ${closest === undefined ? `known: ${known.join(', ')}` : `did you mean ${closest}?`}`;
}

/** A structured value: YAML in the file, one line of JSON in the environment. */
export function json() {
  return z.unknown().transform((value, context) => {
    if (typeof value !== 'string') return value;
    try {
      return JSON.parse(value) as unknown;
    } catch {
      context.addIssue({ code: 'custom', message: 'not JSON' });
      return z.NEVER;
    }
  });
}
