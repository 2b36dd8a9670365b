import { PROBLEMS } from './problem.table.js';

/** The table of docs/errors.md. */
export function problemTable(): string {
  const rows = Object.entries(PROBLEMS).map(([code, { status, title }]) => `| \`${code}\` | ${status} | ${title} |`);
  return ['| code | status | meaning |', '| --- | --- | --- |', ...rows].join('\n');
}
