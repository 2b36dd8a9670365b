import type { z } from 'zod';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const NO_MATCH = 'Invalid string: ';

const UNITS: Readonly<Record<string, string>> = { string: 'characters', array: 'elements' };

/** States what a field of a definition must be, as the end of the sentence "maxIterations …". */
export function contentProblem(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return 'is required';
  const { code } = issue;
  if (code === 'invalid_type') return `must be ${TYPES[issue.expected] ?? issue.expected}`;
  if (code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (code === 'too_big') return tooBig(issue);
  if (code === 'invalid_format' && issue.format === 'url') return 'must be a URL';
  if (code === 'invalid_format' && issue.message.startsWith(NO_MATCH)) return issue.message.slice(NO_MATCH.length);
  if (code !== 'too_small') return issue.message;
  return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
}

function tooBig({ origin, maximum }: z.core.$ZodIssueTooBig): string {
  const units = UNITS[origin];
  return units === undefined ? `must be at most ${maximum}` : `must have at most ${maximum} ${units}`;
}
