import { Controller, Get, Inject, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import {
  type HealthCheckResult,
  HealthCheckService,
  type HealthCheckStatus,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { Database } from '#rollcall/platform';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/route.access.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { PreparedDocuments } from '../http/prepared.documents.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Lifecycle } from './lifecycle.js';
import { RoundTrips, type RoundTripVerdict } from './round-trips.js';

class LivenessView {
  @ApiProperty({ enum: ['ok'], description: 'The process responds.' }) status: 'ok';
}

const CHECKS = {
  type: 'object',
  additionalProperties: { type: 'object', additionalProperties: true },
  example: { database: { status: 'up', roundTripMs: 1.4, limitMs: 500 } },
} as const;

class ReadinessView implements HealthCheckResult {
  @ApiProperty({ enum: ['ok'], description: 'This replica serves requests.' }) status: HealthCheckStatus;
  @ApiPropertyOptional({ ...CHECKS, description: 'The checks that pass.' }) info?: HealthCheckResult['info'];
  @ApiPropertyOptional({ ...CHECKS, example: {}, description: 'The checks that fail.' })
  error?: HealthCheckResult['error'];
  @ApiProperty({ ...CHECKS, description: 'All checks.' }) details: HealthCheckResult['details'];
}

const ALIVE: LivenessView = { status: 'ok' };

/** How long a round trip answers further requests, so that any number of them costs one statement per second. */
const MEASURED_MS = 1_000;

@ApiTags('operation')
@Controller('health')
@Public({ cost: 0 })
export class HealthController {
  private readonly roundTrips: RoundTrips;
  private measured?: { readonly at: number; readonly verdict: Promise<RoundTripVerdict> };

  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly db: Database,
    private readonly lifecycle: Lifecycle,
    private readonly documents: PreparedDocuments,
    @Inject(CONFIG) { database }: Config,
  ) {
    this.roundTrips = new RoundTrips(database.slowRoundTrip);
  }

  @Get('live')
  @ApiOperation({
    operationId: 'health.live',
    summary: 'Check whether the process is alive',
    description: 'Does not check the database, because a restart of this process would not repair the database.',
  })
  @ApiOkResponse({ type: LivenessView, description: 'The process is alive.' })
  async live(@Res() reply: FastifyReply): Promise<void> {
    await this.documents.send(reply, { kind: 'health-live', source: ALIVE, key: '' }, () => ({ body: ALIVE }));
  }

  @Get('ready')
  @ApiOperation({
    operationId: 'health.ready',
    summary: 'Check whether this replica serves requests',
    description:
      'For load balancers: 503 while the database does not respond, while round trips to it are slow, or while the ' +
      'replica shuts down. Requests within one second share one measured round trip.',
  })
  @ApiOkResponse({ type: ReadinessView, description: 'This replica serves requests.' })
  @Problems('NOT_READY')
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const { phase } = this.lifecycle;
    if (phase !== 'serving') throw new ApiError('NOT_READY', `This replica is ${phase}.`, { retryAfterMs: 1_000 });
    const trip = await this.lastTrip();
    if (trip.slow) throw tooSlow(trip);
    const { roundTripMs, limitMs } = trip;
    await this.documents.send(reply, { kind: 'health-ready', source: trip, key: '' }, async () => {
      const body: ReadinessView = await this.health.check([
        () => this.indicators.check('database').up({ roundTripMs, limitMs }),
      ]);
      return { body };
    });
  }

  /** A failed round trip is not kept: the next request measures again. */
  private async lastTrip(): Promise<RoundTripVerdict> {
    const now = performance.now();
    if (this.measured && now - this.measured.at < MEASURED_MS) return await this.measured.verdict;
    const verdict = this.measure();
    this.measured = { at: now, verdict };
    verdict.catch(() => (this.measured = undefined));
    return await verdict;
  }

  private async measure(): Promise<RoundTripVerdict> {
    const started = performance.now();
    try {
      await this.db.query('SELECT 1', [], 'reserved');
    } catch (error) {
      throw new ApiError('NOT_READY', 'The database does not respond.', { retryAfterMs: 2_000 }, { cause: error });
    }
    return this.roundTrips.record(Math.round((performance.now() - started) * 10) / 10);
  }
}

function tooSlow({ roundTripMs, limitMs }: RoundTripVerdict): ApiError {
  const message =
    `Recent round trips to the database took longer than ${limitMs} ms. The last one took ${roundTripMs} ms. ` +
    'This replica is ready again after three consecutive round trips within the limit.';
  return new ApiError('NOT_READY', message, { retryAfterMs: 2_000, details: { roundTripMs, limitMs } });
}
