/** What a case refers to without knowing its value: ids and secrets that the server made up in this run. */
export const SLOTS = [
  'agent',
  'lease',
  'generation',
  'key',
  'webhook',
  'budget',
  'reservation',
  'sequence',
  'ticket',
  'cursor',
  'receiver',
  'secret',
] as const;
export type Slot = (typeof SLOTS)[number];

/** Gives the present value of a slot. */
export type SlotValues = (slot: Slot, which: string) => string;

const TEXT_SLOT = new RegExp(`\\{\\{(${SLOTS.join('|')}):([^}"]*)\\}\\}`, 'g');
const RAW_SLOT = new RegExp(`"\\{\\{#(${SLOTS.join('|')}):([^}"]*)\\}\\}"`, 'g');
const RAW_JSON = /"\{\{#json:([^}"]*)\}\}"/g;

/** A reference inside a text, such as `{{agent:3}}`. */
export function slot(name: Slot, which: string | number): string {
  return `{{${name}:${which}}}`;
}

/** A reference that stands in JSON without quotes, for numbers. */
export function rawSlot(name: Slot, which: string | number): string {
  return `{{#${name}:${which}}}`;
}

/** JSON that JavaScript cannot represent, such as 9007199254740993: written without quotes. */
export function rawJson(text: string): string {
  return `{{#json:${text}}}`;
}

/** Puts the present values in the place of every reference. */
export function fill(text: string, values: SlotValues): string {
  const value = (_: string, name: string, which: string): string => values(name as Slot, which);
  return text
    .replaceAll(RAW_JSON, (_, raw: string) => raw)
    .replaceAll(RAW_SLOT, value)
    .replaceAll(TEXT_SLOT, value);
}
