import {
  hostileArray,
  hostileNumber,
  hostileText,
  INHERITED_NAMES,
  longText,
  manyKeys,
  wrongType,
} from './hostile-values.js';
import type { Random } from './random.js';
import { rawJson } from './slots.js';

export interface Place {
  parent: Record<string, unknown> | unknown[];
  name: string | number;
}

/** Changes one place of a JSON value. Returns the changed value and the name of the mutation. */
export function mutateJson(random: Random, value: unknown): [value: unknown, mutation: string] {
  const holder = { root: structuredClone(value) };
  const place = random.pick(placesIn(holder));
  const label = place.name === 'root' ? 'body' : String(place.name);
  const mutation = random.weighted<[string, (place: Place, random: Random) => void]>([
    [5, ['hostile', setHostile]],
    [4, ['type', (at, by) => write(at, wrongType(by))]],
    [2, ['long', (at, by) => write(at, longText(by))]],
    [1, ['missing', remove]],
    [1, ['unknown', addField]],
    [1, ['inherited', addInherited]],
    [1, ['many-keys', addMany]],
  ]);
  mutation[1](place, random);
  return [holder.root, `${mutation[0]} ${label}`];
}

/** Every place in a JSON value, with the object or array that contains it. */
export function placesIn(parent: Record<string, unknown> | unknown[]): Place[] {
  return Object.keys(parent).flatMap((name) => {
    const place = { parent, name: Array.isArray(parent) ? Number(name) : name };
    const inner = read(place);
    return isContainer(inner) ? [place].concat(placesIn(inner)) : [place];
  });
}

function isContainer(value: unknown): value is Record<string, unknown> | unknown[] {
  return typeof value === 'object' && value !== null;
}

function read({ parent, name }: Place): unknown {
  return (parent as Record<string | number, unknown>)[name];
}

/** Also writes `__proto__` as an own field, which a JSON text can contain. */
export function write({ parent, name }: Place, value: unknown): void {
  Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true });
}

function remove({ parent, name }: Place): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else if (name !== 'root') delete parent[name];
}

/** Writes a hostile value of the correct type. */
function setHostile(place: Place, random: Random): void {
  const value = read(place);
  if (typeof value === 'number' || (typeof value === 'string' && value.startsWith('{{#')))
    write(place, rawJson(hostileNumber(random)));
  else if (Array.isArray(value)) write(place, hostileArray(random, value));
  else if (isContainer(value)) addField({ parent: value, name: '' }, random);
  else write(place, hostileText(random));
}

function objectAt(place: Place): Record<string, unknown> | undefined {
  const value = read(place) ?? place.parent;
  const object = isContainer(value) ? value : place.parent;
  return Array.isArray(object) ? undefined : object;
}

function addField(place: Place, random: Random): void {
  const parent = objectAt(place);
  if (parent) write({ parent, name: hostileText(random) }, random.pick<unknown>([1, 'x', null, []]));
}

function addInherited(place: Place, random: Random): void {
  const parent = objectAt(place);
  const value = random.pick<unknown>([1, 'x', null, { admin: true }, { prototype: { admin: true } }]);
  if (parent) write({ parent, name: random.pick(INHERITED_NAMES) }, value);
}

export function addMany(place: Place, random: Random): void {
  const object = objectAt(place);
  if (object) Object.assign(object, manyKeys(random.pick([65, 1_001, 15_000])));
}

export interface BodyText {
  text: string;
  binary?: boolean;
}

/** Changes the text of a body. The result may be invalid JSON. */
export function mutateText(random: Random, text: string): BodyText {
  return random.pick<() => BodyText>([
    () => ({ text: text.slice(0, random.below(text.length)) }),
    () => ({ text: `${text}${random.pick([' ', '}', ',', '\0', 'x', text])}` }),
    () => ({ text: `\ufeff${text}` }),
    () => ({ text: text.replace('{', `{"${random.pick(INHERITED_NAMES)}":1,`) }),
    () => ({ text: text.replace(/\{("\w+":)/, '{$1null,$1') }),
    () => ({ text: text.replace(/:/, String.raw`:"\ud800",\u0000":`) }),
    () => ({ text: text.replace(/"/, String.raw`"\u0000`) }),
    () => ({
      text: random.pick(['NaN', 'undefined', '', ' ', '""', '0', '[]', 'null', '{', '{"a":1e999999}', "{'a':1}"]),
    }),
    () => ({ text: '['.repeat(random.pick([65, 1_000, 100_000])) }),
    () => ({ text: `{"a":${'{"a":'.repeat(100)}1${'}'.repeat(101)}` }),
    () => ({ text: `${' '.repeat(random.pick([1_000, 200_000]))}${text}` }),
    () => ({ text: `{"x":"${'x'.repeat(random.pick([262_000, 262_144, 300_000, 1_100_000]))}"}` }),
    () => ({ text: breakUtf8(random, text), binary: true }),
  ])();
}

/** Inserts bytes that are invalid UTF-8: overlong forms, surrogates, unexpected and missing continuation bytes. */
function breakUtf8(random: Random, text: string): string {
  const bytes = Buffer.from(text).toString('latin1');
  const at = random.below(bytes.length + 1);
  const bad = random.pick(['\xc0\xae', '\xc0\x80', '\xed\xa0\x80', '\xff', '\x80', '\xe2\x82', '\xf8\x88\x80\x80\x80']);
  return bytes.slice(0, at) + bad + bytes.slice(at);
}
