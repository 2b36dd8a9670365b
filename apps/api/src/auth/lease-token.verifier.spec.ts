import { type Database, DatabaseUnavailableError } from '#rollcall/platform';
import { type LeaseTokenStore } from '#rollcall/registry';
import { LeaseTokenVerifier } from './lease-token.verifier.js';

const database: Pick<Database, 'detached'> = { detached: (work) => work() };

/** Knows one token, or does not answer. */
class OneToken {
  readonly asked: (readonly string[])[] = [];
  isAway = false;

  async findKnown(hashes: readonly string[]): Promise<Set<string>> {
    this.asked.push(hashes);
    await Promise.resolve();
    if (this.isAway) throw new DatabaseUnavailableError('away');
    return new Set(hashes.filter((hash) => hash === 'known'));
  }
}

function prove(store: OneToken): LeaseTokenVerifier {
  return new LeaseTokenVerifier(database as Database, store as unknown as LeaseTokenStore);
}

describe('LeaseTokenVerifier', () => {
  it('A7 looks up all tokens that arrive at the same time by one statement', async () => {
    const store = new OneToken();
    const proofs = prove(store);
    expect(await Promise.all(['known', 'a', 'b'].map(async (hash) => await proofs.isKnown(hash)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(store.asked).toEqual([['known', 'a', 'b']]);
  });

  it('A7 reports a database that does not answer, and asks again', async () => {
    const store = new OneToken();
    const proofs = prove(store);
    store.isAway = true;
    await expect(proofs.isKnown('known')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    store.isAway = false;
    expect(await proofs.isKnown('known')).toBe(true);
  });
});
