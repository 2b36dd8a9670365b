import { DatabaseUnavailableError } from '../postgres/database.errors.js';
import { EventsBusyError, PageTurns } from './event.log.js';

describe('the turns of consumer pages', () => {
  it('A8 rejects work that has waited longer than its maximum wait, and continues after failed work', async () => {
    let now = 0;
    const turns = new PageTurns(() => now);
    const first = Promise.withResolvers<void>();
    const all = [turns.run(async () => await first.promise), turns.run(async () => 'late', 3_000)];
    const waiting = turns.run(async () => 'waiting');
    now = 10_000;
    first.reject(new Error('failed'));
    await expect(all[0]).rejects.toThrow('failed');
    await expect(all[1]).rejects.toThrow(EventsBusyError);
    expect(await waiting).toBe('waiting');
    expect(await turns.run(async () => 'next', 3_000)).toBe('next');
  });

  it('A8 rejects all waiting work immediately if that work would fail with the same error', async () => {
    const turns = new PageTurns();
    const gone = new DatabaseUnavailableError('gone');
    const all = [turns.run(async () => await Promise.reject(gone)), turns.run(async () => 'waits')];
    for (const one of all) await expect(one).rejects.toBe(gone);
    expect(await turns.run(async () => 'next')).toBe('next');
  });
});
