import { useEffect, useMemo, useState } from 'react';
import type { ContentBody } from '#rollcall/client';

/** A definition as people write it: two texts, and everything else as JSON. */
export interface Draft {
  readonly description: string;
  readonly instructions: string;
  /** All other fields, as the text of a JSON object. */
  readonly others: string;
}

export type ReadDraft =
  { readonly content: ContentBody; readonly fault?: never } | { readonly fault: string; readonly content?: never };

const PREVIEW_AFTER_MS = 400;

export function draftOf({ description, instructions = '', ...others }: ContentBody): Draft {
  return { description, instructions, others: JSON.stringify(others, null, 2) };
}

export function readDraft({ description, instructions, others }: Draft): ReadDraft {
  try {
    const parsed: unknown = JSON.parse(others.trim() === '' ? '{}' : others);
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
      return { fault: 'The settings must be a JSON object, such as {"tools": ["clock"]}.' };
    return { content: { ...parsed, description, instructions } };
  } catch (error) {
    return { fault: `The settings are not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** The value after it has not changed for a moment, so that a dry run does not follow each key. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  const text = useMemo(() => JSON.stringify(value), [value]);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PREVIEW_AFTER_MS);
    return () => clearTimeout(timer);
    // the text changes exactly when the value does
  }, [text]);
  return settled;
}
