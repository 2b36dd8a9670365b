import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import { repeated } from './temporary.errors.js';

/** Work that fails with these errors, and then succeeds. */
function failing(...errors: Error[]): { work: () => Promise<void>; attempts: () => number } {
  let attempts = 0;
  const work = async (): Promise<void> => {
    const error = errors[attempts];
    attempts += 1;
    await (error ? Promise.reject(error) : Promise.resolve());
  };
  return { work, attempts: () => attempts };
}

describe('the bids and confirmations of hosted agents (S3.9)', () => {
  it('S3.9 are repeated while the database is busy or unavailable, so that an outage does not make an award lapse', async () => {
    const { work, attempts } = failing(new DatabaseBusyError('lock'), new DatabaseUnavailableError('restart'));
    await repeated(work, 1);
    expect(attempts()).toBe(3);
  });

  it('S3.9 are not repeated after another error', async () => {
    const { work, attempts } = failing(new Error('the auction is over'));
    await expect(repeated(work, 1)).rejects.toThrow('the auction is over');
    expect(attempts()).toBe(1);
  });

  it('S3.9 are repeated a limited number of times', async () => {
    const { work, attempts } = failing(...Array.from({ length: 20 }, () => new DatabaseBusyError('lock')));
    await expect(repeated(work, 1)).rejects.toBeInstanceOf(DatabaseBusyError);
    expect(attempts()).toBe(10);
  });
});
