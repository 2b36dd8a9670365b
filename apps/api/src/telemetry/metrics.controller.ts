import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { HttpMetrics } from './http.metrics.js';
import { Permit, Scope } from '../auth/route.access.js';

const EXAMPLE = 'rollcall_http_request_duration_seconds_count{method="GET",route="/v1/me",status="200"} 42';

@ApiTags('operation')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: HttpMetrics) {}

  @Get()
  @Permit('metrics:read')
  @Scope('installation')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiOperation({
    operationId: 'metrics.scrape',
    summary: 'Metrics of this replica for Prometheus',
    description: 'The metrics concern the whole installation, so this route requires a credential for all namespaces.',
  })
  @ApiProduces('text/plain')
  @ApiOkResponse({ type: String, description: 'The text format of Prometheus.', example: EXAMPLE })
  async scrape(): Promise<string> {
    return await this.metrics.registry.metrics();
  }
}
