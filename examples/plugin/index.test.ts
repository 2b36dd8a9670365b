import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startRollcall } from 'rollcall/testing';
import plugin from './index.js';

void test('the butler greets in the configured language', async () => {
  const rollcall = await startRollcall({ settings: process.env, plugins: [{ plugin, config: { language: 'fr' } }] });
  try {
    assert.equal(await rollcall.ask('butler', 'Ada'), 'Bonjour Ada');
  } finally {
    await rollcall.stop();
  }
});
