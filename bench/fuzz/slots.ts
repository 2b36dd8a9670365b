/** Slots are placeholders in a case for ids and secrets that the server creates in this run. */
const SLOTS = [
  'agent',
  'lease',
  'generation',
  'key',
  'webhook',
  'budget',
  'reservation',
  'namespace',
  'sequence',
  'ticket',
  'session',
  'sessionTicket',
  'cursor',
  'receiver',
  'secret',
  'run',
  'call',
  'inputHash',
  'push',
  'contract',
  'task',
  'delivery',
  'pin',
  'pinHash',
] as const;
export type Slot = (typeof SLOTS)[number];

/** Returns the current value of a slot. */
export type SlotValues = (slot: Slot, which: string) => string;

const TEXT_SLOT = new RegExp(`\\{\\{(${SLOTS.join('|')}):([^}"]*)\\}\\}`, 'g');
const RAW_SLOT = new RegExp(`"\\{\\{#(${SLOTS.join('|')}):([^}"]*)\\}\\}"`, 'g');
const RAW_JSON = /"\{\{#json:([^}"]*)\}\}"/g;

/** A slot inside a text, such as `{{agent:3}}`. */
export function slot(name: Slot, which: string | number): string {
  return `{{${name}:${which}}}`;
}

/** A slot that appears in JSON without quotes, for numbers. */
export function rawSlot(name: Slot, which: string | number): string {
  return `{{#${name}:${which}}}`;
}

/** JSON that JavaScript cannot represent, such as 9007199254740993: written without quotes. */
export function rawJson(text: string): string {
  return `{{#json:${text}}}`;
}

/** Replaces all slots with their current values. */
export function fill(text: string, values: SlotValues): string {
  const value = (_: string, name: string, which: string): string => values(name as Slot, which);
  return text
    .replaceAll(RAW_JSON, (_, raw: string) => raw)
    .replaceAll(RAW_SLOT, value)
    .replaceAll(TEXT_SLOT, value);
}
