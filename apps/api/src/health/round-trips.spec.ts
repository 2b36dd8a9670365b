import { RoundTrips } from './round-trips.js';

const slowAfter = (times: readonly number[], trips = new RoundTrips(500)): boolean[] =>
  times.map((ms) => trips.record(ms).slow);

describe('round trips to the database', () => {
  it('D6 reports a slow database after three consecutive round trips above the limit', () => {
    expect(slowAfter([10, 900, 900, 900, 900])).toEqual([false, false, false, true, true]);
    expect(slowAfter([900, 900, 10, 900, 900])).toEqual([false, false, false, false, false]);
  });

  it('D6 reports a fast database again after three consecutive round trips within the limit', () => {
    const trips = new RoundTrips(500);
    slowAfter([900, 900, 900], trips);
    expect(slowAfter([10, 10, 900, 10, 10, 500], trips)).toEqual([true, true, true, true, true, false]);
  });

  it('D6 reports the time of the last round trip and the limit', () => {
    expect(new RoundTrips(500).record(12)).toEqual({ roundTripMs: 12, limitMs: 500, slow: false });
  });
});
