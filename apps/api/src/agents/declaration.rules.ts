import { applyDecorators } from '@nestjs/common';
import { IsInt, IsString, Length, Matches, Max, Min } from 'class-validator';

/** The rules for fields that an agent declares when it registers and may update later. */
export const IsAgentName = (): PropertyDecorator =>
  applyDecorators(Length(1, 200), IsString(), Matches(/\S/, { message: 'name must not be blank' }));
export const IsEndpoint = (): PropertyDecorator => applyDecorators(Length(1, 2_000), IsString());
export const IsSandboxLevel = (): PropertyDecorator => applyDecorators(Max(100), Min(0), IsInt());
export const IsCapacity = (): PropertyDecorator => applyDecorators(Max(1e6), Min(1), IsInt());
export const IsDeclaredLatency = (): PropertyDecorator => applyDecorators(Max(1e9), Min(0), IsInt());
export const IsAgentVersion = (): PropertyDecorator => applyDecorators(Length(1, 100), IsString());
