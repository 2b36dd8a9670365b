import { given } from '../../testing/given.js';
import { applyUpdate, type Declaration } from './registration.js';

const { budget: _budget, ...facts } = given.registration({ labels: { team: 'a', zone: 'eu' } });
const before: Declaration = facts;

describe('an update of an agent', () => {
  it('changes the given fields and keeps the others', () => {
    const { after, changed } = applyUpdate(before, { name: 'other', version: '2' });
    expect(after).toEqual({ ...before, name: 'other', version: '2' });
    expect(changed).toEqual(['name', 'version']);
  });

  it('reports no change for equal values, whatever the order of their fields', () => {
    const { plan, type, adapter } = before.provider;
    const same = {
      provider: { plan, type, adapter },
      capabilities: ['build'],
      labels: { team: 'a' },
      endpoint: undefined,
    };
    expect(applyUpdate(before, same).changed).toEqual([]);
  });

  it('merges labels, and removes a label that is null', () => {
    const { after, changed } = applyUpdate(before, { labels: { zone: null, tier: 'gold', missing: null } });
    expect(after.labels).toEqual({ team: 'a', tier: 'gold' });
    expect(changed).toEqual(['labels']);
  });

  it('merges prices, and removes a price that is null', () => {
    const { after } = applyUpdate(before, { costModel: { usdPer1kTokens: 0.003 } });
    expect(after.costModel).toEqual({ usdPerTask: 0, usdPer1kTokens: 0.003 });
    expect(applyUpdate(after, { costModel: { usdPerTask: null } }).after.costModel.usdPerTask).toBeNull();
  });

  it('sets a nullable field to null', () => {
    expect(applyUpdate(before, { endpoint: null }).after.endpoint).toBeNull();
  });
});
