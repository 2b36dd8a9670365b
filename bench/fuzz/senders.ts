import { type Sender, SENDERS } from './fuzz-case.js';
import type { Random } from './random.js';
import { slot } from './slots.js';
import { AGENTS, type Draft } from './valid-request.js';

/** Most requests have a credential with the permission: others are rejected before they reach a handler. */
export function pickSender(random: Random, { segments, body }: Pick<Draft, 'segments' | 'body'>): Sender {
  const agent = segments[2]?.startsWith('{{agent') || JSON.stringify(body ?? null).includes('{{lease');
  if (agent && random.chance(0.3)) return 'lease';
  return random.chance(0.6) ? random.pick(['admin', 'admin', 'operator']) : random.pick(SENDERS);
}

export function credentialsFor(random: Random, sender: Sender, { segments, body }: Draft): [string, string][] {
  const named = segments.join('/') + (JSON.stringify(body) ?? '');
  const agent = /\{\{agent:(\d+)\}\}/.exec(named)?.[1] ?? random.below(AGENTS);
  return credentialsOf(random, sender, agent);
}

export function credentialsOf(random: Random, sender: Sender, agent: string | number): [string, string][] {
  const bearer = (token: string): [string, string][] => [['Authorization', `Bearer ${token}`]];
  if (sender === 'none') return [];
  if (sender === 'lease') return bearer(slot('lease', agent));
  if (sender === 'session') return bearer(slot('session', 0));
  if (sender === 'forged') return bearer(`rl_${random.below(1e9)}${'x'.repeat(random.pick([1, 40, 5_000]))}`);
  if (sender === 'garbage') {
    const scheme = random.pick(['Bearer', 'bearer', 'Basic', 'Digest', '', 'Bearer Bearer']);
    const token = random.pick([
      'x',
      'a.b.c',
      'eyJhbGciOiJub25lIn0.e30.x',
      'é',
      'rk_x_y',
      'a'.repeat(8_000),
      '\x80\xff',
    ]);
    return [['Authorization', `${scheme} ${token}`]];
  }
  return bearer(slot('secret', sender));
}
