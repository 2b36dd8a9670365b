import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Optional, QueryNumber } from '../http/validation/fields.js';

const MAX_STEP = 2 ** 31 - 1;
const MAX_ID = 128;

export class RunStreamQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_STEP,
    default: 0,
    example: 0,
    description: 'The last step that you have. `Last-Event-ID` has precedence.',
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(MAX_STEP)
  afterStep: number = 0;
}

/** The `data` of an `unsubscribe-run` frame. */
export class RunSubscriptionBody {
  @IsString()
  @Length(1, MAX_ID)
  runId: string;
}

/** The `data` of a `subscribe-run` frame. */
export class SubscribeRunBody extends RunSubscriptionBody {
  /** The last step that the client has. */
  @Optional(0)
  @IsInt()
  @Min(0)
  @Max(MAX_STEP)
  afterStep: number = 0;
}
