import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Permit } from '../auth/route.access.js';
import { HttpMetrics } from './http.metrics.js';

@ApiTags('operation')
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: HttpMetrics) {}

  @Get()
  @Permit('metrics:read')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  @ApiOperation({ summary: 'Metrics of this replica for Prometheus' })
  @ApiProduces('text/plain')
  @ApiOkResponse({
    schema: {
      type: 'string',
      example: 'rollcall_http_request_duration_seconds_count{method="GET",route="/v1/me",status="200"} 42',
    },
  })
  async scrape(): Promise<string> {
    return await this.metrics.registry.metrics();
  }
}
