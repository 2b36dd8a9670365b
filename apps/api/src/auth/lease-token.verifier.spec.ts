import { type Database, DatabaseUnavailableError } from '#rollcall/platform';
import { type LeaseTokenStore } from '#rollcall/registry';
import { LeaseTokenVerifier } from './lease-token.verifier.js';

const database: Pick<Database, 'detached'> = { detached: (work) => work() };

/** Contains one token. While `isUnavailable` is set, it fails. */
class OneToken {
  readonly lookups: (readonly string[])[] = [];
  isUnavailable = false;

  async findKnown(hashes: readonly string[]): Promise<Set<string>> {
    this.lookups.push(hashes);
    await Promise.resolve();
    if (this.isUnavailable) throw new DatabaseUnavailableError('unreachable');
    return new Set(hashes.filter((hash) => hash === 'known'));
  }
}

function verifierWith(store: OneToken): LeaseTokenVerifier {
  return new LeaseTokenVerifier(database as Database, store as unknown as LeaseTokenStore);
}

describe('LeaseTokenVerifier', () => {
  it('A7 looks up all tokens that arrive at the same time with one statement', async () => {
    const store = new OneToken();
    const verifier = verifierWith(store);
    expect(await Promise.all(['known', 'a', 'b'].map(async (hash) => await verifier.isKnown(hash)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(store.lookups).toEqual([['known', 'a', 'b']]);
  });

  it('A7 reports an unavailable database, and queries it again for the next token', async () => {
    const store = new OneToken();
    const verifier = verifierWith(store);
    store.isUnavailable = true;
    await expect(verifier.isKnown('known')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    store.isUnavailable = false;
    expect(await verifier.isKnown('known')).toBe(true);
  });
});
