import type { CatalogEntry } from './catalog.entry.js';
import { publisherOf } from './catalog.names.js';
import { invalid } from './request.reader.js';

type Condition = (entry: CatalogEntry) => boolean;

const CONDITION = /^(\w{1,40}) ?(=|>) ?'([^']{0,1000})'$/;

/** Whether an entry matches one value: its name contains the value in any case, or its type or publisher is the value. */
const EQUAL: Readonly<Record<string, (entry: CatalogEntry, value: string) => boolean>> = {
  displayName: ({ displayName }, value) => displayName.toLowerCase().includes(value.toLowerCase()),
  type: ({ type }, value) => type === value,
  publisherId: ({ identifier }, value) => publisherOf(identifier) === value,
};
/** Both fields are compared with the time of the registration. */
const AFTER: ReadonlySet<string> = new Set(['createdAfter', 'updatedAfter']);

/** Reads the filter of a list: `type = 'application/json,text/plain' AND updatedAfter > '2026-01-01'`. Commas separate alternatives. */
export function listFilter(text: string): Condition {
  if (text.trim() === '') return () => true;
  const conditions = text
    .trim()
    .split(/\sAND\s/)
    .map((part) => conditionOf(part.trim()));
  return (entry) => conditions.every((condition) => condition(entry));
}

function conditionOf(part: string): Condition {
  const [, field = '', operator, value = ''] = CONDITION.exec(part) ?? [];
  if (operator !== undefined && AFTER.has(field)) return afterOf(value);
  const equal = Object.hasOwn(EQUAL, field) ? EQUAL[field] : undefined;
  if (!equal || operator !== '=') {
    throw invalid(
      `filter: ${part.slice(0, 100)} is not a condition. Write field = 'value', joined by AND, with the fields displayName, type, ` +
        `publisherId, createdAfter and updatedAfter.`,
    );
  }
  const values = value.split(',').map((one) => one.trim());
  return (entry) => values.some((one) => equal(entry, one));
}

function afterOf(value: string): Condition {
  const time = Date.parse(value);
  if (Number.isNaN(time)) throw invalid(`filter: ${value.slice(0, 100)} is not a time in ISO 8601.`);
  return ({ updatedAt }) => updatedAt !== undefined && Date.parse(updatedAt) > time;
}
