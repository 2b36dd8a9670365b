import { Injectable } from '@nestjs/common';
import { IsString, MaxLength } from 'class-validator';
import { AgentDefinition, type CodeDefinition, Describe, Tool } from '#rollcall/agent-runtime';

class WeatherInput {
  @Describe('The name of the city')
  @IsString()
  @MaxLength(100)
  city: string;
}

/** A class that is a provider of a module: its definition and its tool are found at the start. */
@Injectable()
@AgentDefinition({
  name: 'weather-reporter',
  description: 'Reports the weather of a city.',
  instructions: 'You report the weather. Call the tool weather for the facts.',
  tools: ['weather'],
  capabilities: ['weather.report'],
})
export class WeatherReporter {
  @Tool({ description: 'Returns the weather of a city.', idempotent: true })
  weather({ city }: WeatherInput): string {
    return `${city}: 18 °C, dry`;
  }
}

/** For AgentRuntimeModule.forRoot({ definitions }). */
export const definitions: readonly CodeDefinition[] = [
  {
    name: 'travel-planner',
    description: 'Plans a trip.',
    instructions: 'You plan trips. Ask weather-reporter for the weather.',
    tools: ['spawn_subagent'],
    subagents: ['weather-reporter'],
    maxIterations: 5,
  },
];
