import type { Tone } from '../parts/parts.js';

const TONES: Record<string, Tone> = {
  completed: 'good',
  failed: 'bad',
  refused: 'bad',
  stopped: 'warn',
  waiting: 'warn',
  cancelled: 'off',
};

/** The colour of the state of a run. */
export function runTone(state: string): Tone {
  return TONES[state] ?? 'info';
}
