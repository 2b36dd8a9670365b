import { BY, codeOf, define, fakeContent, NAMESPACE, spawn, type TestHost, TestHosts } from '../testing/test-hosts.js';

let hosts: TestHosts;
let here: TestHost;
let there: TestHost;
beforeAll(async () => {
  hosts = await TestHosts.start();
  here = await hosts.add();
  there = await hosts.add();
});
beforeEach(async () => await hosts.reset());
afterAll(async () => await hosts.stop());

const ADA = { namespace: NAMESPACE, name: 'ada' };
const ROUNDS = 20;
const CONCURRENT = 15;

describe('concurrent spawns of one name', () => {
  it('S1.2 one succeeds and all others are rejected with AGENT_ALREADY_EXISTS, in each of 20 rounds', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `ada-${round}`; // a name without an earlier registration: there is no row that a spawn could lock
      const spawns = Array.from({ length: CONCURRENT }, async (_, index) =>
        codeOf(spawn(index % 2 === 0 ? here : there, name)),
      );
      const codes = (await Promise.all(spawns)).toSorted();
      expect(codes).toEqual([...Array.from({ length: CONCURRENT - 1 }, () => 'AGENT_ALREADY_EXISTS'), 'succeeded']);
    }
    expect([...here.fake.open, ...there.fake.open]).toHaveLength(ROUNDS);
  });
});
