import type { INestApplicationContext } from '@nestjs/common';
import type { LaneRoute } from '../http/lane/lanes.js';
import { DiscoveryController } from './discovery.controller.js';
import { LivenessController } from './liveness.controller.js';

/** The routes of agents that are called most. */
export function agentLanes(app: INestApplicationContext): LaneRoute[] {
  const liveness = app.get(LivenessController, { strict: false });
  const discovery = app.get(DiscoveryController, { strict: false });
  return [
    {
      url: '/v1/agents/:id/heartbeat',
      permission: 'agents:self',
      handle: (id, body, { leaseHash = null }, answer) => liveness.take(id, body, leaseHash, answer),
    },
    {
      url: '/v1/agents/query',
      permission: 'agents:read',
      repeats: true,
      handle: (_id, body, _principal, answer) => discovery.ask(body, answer),
    },
  ];
}
