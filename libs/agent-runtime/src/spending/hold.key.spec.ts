import { amountIn, partKey, recordedUsage, sharedKey } from './hold.key.js';

const CALL = { tokens: 40, microUsd: 3 };

describe('the keys of holds that pay several calls', () => {
  it('B2 contain the amount of a call, even if a second hold for the same call adds a suffix', () => {
    expect(amountIn(sharedKey('1/1', CALL))).toEqual(CALL);
    expect(amountIn(`${sharedKey('1/1', CALL)}~2`)).toEqual(CALL);
    expect([amountIn('1/1'), amountIn('final/1'), amountIn('call')]).toEqual([undefined, undefined, undefined]);
  });

  it('B2 B6 add up the charges of the replies that one hold pays, and keep the charges of other holds', () => {
    const hold = sharedKey('1/1', CALL);
    const usages = recordedUsage([
      { key: partKey(hold, '1/1', CALL), tokens: 10, microUsd: 1 },
      { key: 'final/1', tokens: null, microUsd: null },
      { key: partKey(hold, '2/1', CALL), tokens: 5, microUsd: 1 },
    ]);
    expect([...usages]).toEqual([
      ['final/1', { tokens: null, microUsd: null, isShared: false }],
      [hold, { tokens: 15, microUsd: 2, isEstimated: false, isShared: true }],
    ]);
  });

  it('B2 B6 charge the held amount for a call with unknown usage', () => {
    const hold = sharedKey('1/1', CALL);
    const usages = recordedUsage([
      { key: partKey(hold, '1/1', CALL), tokens: 10, microUsd: 1 },
      { key: partKey(hold, '2/1', { tokens: 50, microUsd: 4 }), tokens: null, microUsd: null },
    ]);
    expect(usages.get(hold)).toEqual({ tokens: 60, microUsd: 5, isEstimated: true, isShared: true });
  });
});
