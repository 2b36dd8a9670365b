import { type Database, DatabaseUnavailableError } from '#rollcall/platform';
import type { LeaseTokenStore } from '#rollcall/registry';
import { LeaseTokenVerifier } from './lease-token.verifier.js';

const database: Pick<Database, 'detached'> = { detached: (work) => work() };

/** A store with one token. Its look-ups fail while `isUnavailable` is set. */
class OneToken {
  readonly lookups: (readonly string[])[] = [];
  isUnavailable = false;

  async findAgents(hashes: readonly string[]): Promise<Map<string, string>> {
    this.lookups.push(hashes);
    await Promise.resolve();
    if (this.isUnavailable) throw new DatabaseUnavailableError('unreachable');
    return new Map(hashes.filter((hash) => hash === 'known').map((hash) => [hash, 'team-a/builder']));
  }
}

function verifierWith(store: OneToken): LeaseTokenVerifier {
  return new LeaseTokenVerifier(database as Database, store as unknown as LeaseTokenStore);
}

describe('LeaseTokenVerifier', () => {
  it('A7 looks up all tokens that arrive at the same time with one statement', async () => {
    const store = new OneToken();
    const verifier = verifierWith(store);
    expect(await Promise.all(['known', 'a', 'b'].map(async (hash) => await verifier.namespaceOf(hash)))).toEqual([
      'team-a',
      undefined,
      undefined,
    ]);
    expect(store.lookups).toEqual([['known', 'a', 'b']]);
  });

  it('A7 reports an unavailable database, and queries it again for the next token', async () => {
    const store = new OneToken();
    const verifier = verifierWith(store);
    store.isUnavailable = true;
    await expect(verifier.namespaceOf('known')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    store.isUnavailable = false;
    expect(await verifier.namespaceOf('known')).toBe('team-a');
  });
});
