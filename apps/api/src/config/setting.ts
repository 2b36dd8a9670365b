import { z } from 'zod';

/** What documentation and error messages need to know about a setting, kept beside its type. */
export interface SettingFacts {
  env: string;
  about: string;
  /** What would be right, as the end of "expected …". */
  expects: string;
  /** Never shown, neither in messages nor in logs. */
  secret?: boolean;
  /** How the default is written, where the parsed form would not be understood. */
  defaultText?: string;
}

export function setting<T extends z.ZodType>(schema: T, facts: SettingFacts): T {
  return schema.meta({ ...facts });
}

export interface SettingEntry extends SettingFacts {
  path: string[];
  fallback: unknown;
}

/** All settings of a schema, in the order they are written. */
export function listSettings(schema: z.ZodType, path: string[] = []): SettingEntry[] {
  if (schema instanceof z.ZodPrefault) return listSettings(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape).flatMap(([key, inner]) => listSettings(inner as z.ZodType, [...path, key]));
  }
  const facts = schema.meta() as unknown as SettingFacts;
  const fallback = schema.safeParse(undefined);
  return [{ ...facts, path, fallback: fallback.success ? fallback.data : undefined }];
}

/** What every duration expects. */
export const A_DURATION = 'a duration such as 500ms, 30s, 5m or 24h';

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES: Record<string, number> = { '': 1, B: 1, KB: 1_024, MB: 1_048_576 };

/** `30s`, `250ms`, `24h`: parsed to milliseconds. A bare number is refused: nobody can tell its unit. */
export function duration(fallback: string) {
  return quantity(/^(\d+)(ms|s|m|h|d)$/, UNITS, fallback);
}

/** `256KB`, `1MB`, `1000`: parsed to bytes. */
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

/** A YAML list, or one line with commas. */
export function list(fallback: string[]) {
  const split = (text: string): string[] =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean);
  return z.union([z.array(z.string()), z.string().transform(split)]).default(fallback);
}

export function integer(min: number, max: number, fallback: number) {
  const digits = z.string().trim().regex(/^\d+$/).transform(Number);
  return z.union([z.number(), digits]).pipe(z.number().int().min(min).max(max)).default(fallback);
}

export function decimal(min: number, max: number, fallback: number) {
  const digits = z
    .string()
    .trim()
    .regex(/^\d+(\.\d+)?$/)
    .transform(Number);
  return z.union([z.number(), digits]).pipe(z.number().min(min).max(max)).default(fallback);
}

/** A tree of its own: as YAML, or as one line of JSON in the environment. */
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
