import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import { Optional } from '../http/validation/fields.js';

const MAX_CALL_ID = 512;
const MAX_HASH = 128;
export const MAX_REASON = 2_000;
export const MAX_OUTPUT = 20_000;

/** A decision about one of the calls in `result.approvals` of the run. */
export class DecisionBody {
  @ApiProperty({ minLength: 1, maxLength: MAX_CALL_ID, example: 'call-1', description: 'The id of the call.' })
  @IsString()
  @Length(1, MAX_CALL_ID)
  callId: string;

  @ApiProperty({
    minLength: 1,
    maxLength: MAX_HASH,
    example: '9f86d081884c7d65',
    description: 'The hash of the input of the call. The decision applies to exactly this input.',
  })
  @IsString()
  @Length(1, MAX_HASH)
  inputHash: string;

  @ApiProperty({ example: true, description: 'Whether the call may be executed.' })
  @IsBoolean()
  approved: boolean;

  @ApiPropertyOptional({
    maxLength: MAX_REASON,
    example: 'The amount is correct.',
    description: 'The reason for the decision. The agent receives the reason for a rejection.',
  })
  @Optional()
  @IsString()
  @MaxLength(MAX_REASON)
  reason?: string;

  @ApiPropertyOptional({
    maxLength: MAX_OUTPUT,
    example: 'paid',
    description:
      'The result of the call, if you know that it was executed. Only for a run that waits for `needs_review`: the call is then ' +
      'not repeated.',
  })
  @Optional()
  @IsString()
  @MaxLength(MAX_OUTPUT)
  output?: string;
}
