import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

interface Summary {
  sent: number;
  faults: number;
  unreached: string[];
}

const FUZZ = resolve(import.meta.dirname, '../../dist/bench/fuzz/fuzz.js');
const SECONDS = 15;
const SEED = 12;

/** The short form of `npm run fuzz`. */
describe('hostile requests to every operation and both WebSockets, with every role', () => {
  it('every request is answered in time with problem+json, without a 5xx, a crash or a growing heap', () => {
    const { stdout, status } = spawnSync(process.execPath, [FUZZ, String(SECONDS), String(SEED)], { encoding: 'utf8' });
    const lines = stdout.trim().split('\n');
    const summary = JSON.parse(lines.at(-1) ?? '') as Summary;
    expect(lines.slice(0, -1).join('\n')).toBe('');
    expect(summary).toMatchObject({ faults: 0 });
    expect(summary.sent).toBeGreaterThan(100);
    expect(status).toBe(0);
  }, 180_000);
});
