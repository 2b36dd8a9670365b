import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiServiceUnavailableResponse, ApiTags } from '@nestjs/swagger';
import { type HealthCheckResult, HealthCheckService, HealthIndicatorService } from '@nestjs/terminus';
import { Database } from '#rollcall/platform';
import { Public } from '../auth/route.access.js';
import { ApiError } from '../http/api.error.js';
import { Lifecycle } from './lifecycle.js';

const ALIVE = { status: 'ok' } as const;

@ApiTags('operation')
@Controller('health')
@Public()
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
    private readonly db: Database,
    private readonly lifecycle: Lifecycle,
  ) {}

  @Get('live')
  @ApiOperation({
    summary: 'Is the process alive?',
    description: 'Never touches the database: a restart would not mend that.',
  })
  @ApiOkResponse({ schema: { example: ALIVE } })
  live(): typeof ALIVE {
    return ALIVE;
  }

  @Get('ready')
  @ApiOperation({
    summary: 'Can this replica serve?',
    description: 'For gateways: 503 while the database is away or the replica is leaving.',
  })
  @ApiOkResponse({ schema: { example: { status: 'ok', info: { database: { status: 'up' } }, error: {} } } })
  @ApiServiceUnavailableResponse({ description: 'NOT_READY, with the checks that failed.' })
  async ready(): Promise<HealthCheckResult> {
    const { phase } = this.lifecycle;
    if (phase !== 'serving') throw new ApiError('NOT_READY', `This replica is ${phase}.`, { retryAfterMs: 1_000 });
    try {
      return await this.health.check([() => this.indicators.check('database').attempt(() => this.ping())]);
    } catch (error) {
      throw new ApiError('NOT_READY', 'The database does not answer.', { retryAfterMs: 2_000 }, { cause: error });
    }
  }

  private async ping(): Promise<void> {
    await this.db.query('SELECT 1');
  }
}
