import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { HealthCheckResult, HealthCheckStatus } from '@nestjs/terminus';

export class LivenessView {
  @ApiProperty({ enum: ['ok'], description: 'The process responds.' }) status: 'ok';
}

const CHECKS = {
  type: 'object',
  additionalProperties: { type: 'object', additionalProperties: true },
  example: { database: { status: 'up', roundTripMs: 1.4, limitMs: 500 } },
} as const;

export class ReadinessView implements HealthCheckResult {
  @ApiProperty({ enum: ['ok'], description: 'This replica serves requests.' }) status: HealthCheckStatus;
  @ApiPropertyOptional({ ...CHECKS, description: 'The checks that pass.' }) info?: HealthCheckResult['info'];
  @ApiPropertyOptional({ ...CHECKS, example: {}, description: 'The checks that fail.' })
  error?: HealthCheckResult['error'];
  @ApiProperty({ ...CHECKS, description: 'All checks.' }) details: HealthCheckResult['details'];
}
