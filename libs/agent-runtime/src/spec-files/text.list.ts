import { type SpecProblems, shown } from './spec.problems.js';

const MAX_NAMED = 10;

/** Reads a comma-separated text or a list of texts. Commas in parentheses do not separate. Undefined for any other value. */
export function textList(value: unknown): string[] | undefined {
  if (typeof value === 'string') return withoutEmpty(splitAtCommas(value));
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return undefined;
  return withoutEmpty(value);
}

/** Removes the elements that occur a second time, with a warning. */
export function withoutDuplicates(key: string, texts: readonly string[], problems: SpecProblems): string[] {
  const unique = new Set(texts);
  if (unique.size < texts.length) {
    const repeated = new Set(texts.filter((text, index) => texts.indexOf(text) !== index));
    const names = [...repeated].slice(0, MAX_NAMED).map(shown).join(', ');
    problems.warn(key, `${key} contains the same element twice: ${names}.`);
  }
  return [...unique];
}

function withoutEmpty(texts: readonly string[]): string[] {
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

function splitAtCommas(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '(') depth += 1;
    else if (character === ')') depth = Math.max(0, depth - 1);
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, text.slice(start)];
}
