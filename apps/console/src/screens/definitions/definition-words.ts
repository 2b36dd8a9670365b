import type { DefinitionView, FieldChangeView } from '#rollcall/client';
import type { Tone } from '../../parts/parts.js';

type Source = DefinitionView['source'];

export const ORIGINS: Record<Source, { word: string; tone: Tone; text: string }> = {
  rest: { word: 'API', tone: 'info', text: 'was registered through the API, so it can be edited here' },
  code: { word: 'code', tone: 'off', text: 'comes from the code of the deployment. Change it there' },
  config: { word: 'config', tone: 'off', text: 'comes from the configuration of the deployment. Change it there' },
  file: { word: 'file', tone: 'off', text: 'comes from a spec file of the deployment. Change the file' },
};

/** Only what came through the API can be changed through it. */
export function isEditable({ source }: { source: Source }): boolean {
  return source === 'rest';
}

/** The fields that differ, as the API compares two revisions. */
export function changesBetween(before: object, after: object): FieldChangeView[] {
  const [old, next] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const fields = [...new Set([...Object.keys(old), ...Object.keys(next)])].toSorted();
  return fields
    .filter((field) => fieldText(old[field]) !== fieldText(next[field]))
    .map((field) => ({ field, before: old[field], after: next[field] }) as FieldChangeView);
}

/** A value as text; the keys of objects are sorted, because their order has no meaning. */
export function fieldText(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  return JSON.stringify(sorted(value), null, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

export interface LineChange {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** The lines in the middle that differ, with one line of context before and after. */
export function lineChanges(before: string, after: string): LineChange[] {
  const [old, next] = [before === '' ? [] : before.split('\n'), after === '' ? [] : after.split('\n')];
  const shorter = Math.min(old.length, next.length);
  let start = 0;
  while (start < shorter && old[start] === next[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1;
  const same = (lines: readonly string[]): LineChange[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(old.slice(Math.max(0, start - 1), start)),
    ...old.slice(start, old.length - end).map((text): LineChange => ({ kind: 'removed', text })),
    ...next.slice(start, next.length - end).map((text): LineChange => ({ kind: 'added', text })),
    ...same(old.slice(old.length - end, old.length - end + 1)),
  ];
}
