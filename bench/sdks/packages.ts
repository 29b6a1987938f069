/** A property that the benchmark looks for in the records of a package's trace. */
export type Check =
  | 'trace'
  | 'kinds'
  | 'input'
  | 'output'
  | 'messages'
  | 'tool call'
  | 'tool'
  | 'model'
  | 'tokens'
  | 'cached'
  | 'cost'
  | 'session'
  | 'user'
  | 'unread';

export const checks: readonly Check[] = [
  ...(['trace', 'kinds', 'input', 'output', 'messages', 'tool call', 'tool'] as const),
  ...(['model', 'tokens', 'cached', 'cost', 'session', 'user', 'unread'] as const),
];

/** A published package that writes spans, and the program that uses it. */
export interface Sdk {
  name: string;
  registry: 'pip' | 'npm';
  install: readonly string[];
  /** A file of `programs`, and its arguments. */
  program: readonly [file: string, ...args: string[]];
  /** Properties that the package does not send in this program. */
  sendsNo?: readonly Check[];
  environment?: Record<string, string>;
}

const ofPython = ['opentelemetry-sdk', 'opentelemetry-exporter-otlp-proto-http'];
const ofLangchain = [...ofPython, 'langgraph', 'langchain', 'langchain-openai'];
const ofNode = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-node',
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-proto',
];

/** In the newest version of each, so that what changes is seen. */
export const sdks: readonly Sdk[] = [
  {
    name: 'openinference-instrumentation-openai',
    registry: 'pip',
    install: [...ofPython, 'openinference-instrumentation-openai', 'openai'],
    program: ['openinference_openai.py'],
    sendsNo: ['tool'],
  },
  {
    name: 'opentelemetry-instrumentation-openai',
    registry: 'pip',
    install: [...ofPython, 'opentelemetry-instrumentation-openai', 'openai'],
    program: ['traceloop_openai.py'],
    sendsNo: ['tool', 'session', 'user'],
  },
  {
    name: 'pydantic-ai',
    registry: 'pip',
    install: [...ofPython, 'pydantic-ai-slim[openai]'],
    program: ['pydantic_ai_agent.py'],
    sendsNo: ['user'],
  },
  {
    name: 'strands-agents',
    registry: 'pip',
    install: ['opentelemetry-exporter-otlp-proto-http', 'strands-agents>=1.60', 'openai'],
    program: ['strands_agent.py'],
  },
  {
    name: 'openai-agents',
    registry: 'pip',
    install: [...ofPython, 'openai-agents', 'openinference-instrumentation-openai-agents'],
    program: ['openai_agents.py'],
  },
  {
    name: 'opentelemetry-instrumentation-langchain',
    registry: 'pip',
    install: [...ofLangchain, 'opentelemetry-instrumentation-langchain'],
    program: ['langchain_agent.py', 'traceloop'],
  },
  {
    name: 'langsmith',
    registry: 'pip',
    install: [...ofLangchain, 'langsmith[otel]'],
    program: ['langchain_agent.py', 'langsmith'],
    environment: { LANGSMITH_TRACING: 'true', LANGSMITH_OTEL_ENABLED: 'true', LANGSMITH_OTEL_ONLY: 'true' },
  },
  {
    name: 'openinference-instrumentation-langchain',
    registry: 'pip',
    install: [...ofLangchain, 'openinference-instrumentation-langchain'],
    program: ['langchain_agent.py', 'openinference'],
  },
  {
    name: 'smolagents',
    registry: 'pip',
    install: [...ofPython, 'smolagents[openai]', 'openinference-instrumentation-smolagents'],
    program: ['smolagents_agent.py'],
    sendsNo: ['cached'],
  },
  {
    name: 'logfire',
    registry: 'pip',
    install: [...ofPython, 'logfire', 'openai'],
    program: ['logfire_openai.py'],
    sendsNo: ['tool', 'session', 'user'],
  },
  {
    name: 'langfuse',
    registry: 'pip',
    install: [...ofPython, 'langfuse', 'openai'],
    program: ['langfuse_openai.py'],
    sendsNo: ['tool'],
  },
  {
    name: 'haystack-ai',
    registry: 'pip',
    install: [...ofPython, 'haystack-ai', 'openinference-instrumentation-haystack'],
    program: ['haystack_agent.py'],
    sendsNo: ['messages', 'tool', 'cached'],
  },
  {
    name: 'agent-framework',
    registry: 'pip',
    install: [...ofPython, 'agent-framework-core', 'agent-framework-openai'],
    program: ['agent_framework_agent.py'],
    sendsNo: ['session', 'user'],
  },
  {
    name: 'semantic-kernel',
    registry: 'pip',
    install: [...ofPython, 'semantic-kernel'],
    program: ['semantic_kernel_agent.py'],
    environment: { SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE: 'true' },
    sendsNo: ['messages', 'tool call', 'cached', 'session', 'user'],
  },
  {
    name: 'google-adk',
    registry: 'pip',
    install: [...ofPython, 'google-adk', 'litellm'],
    program: ['google_adk_agent.py'],
    sendsNo: ['cached', 'user'],
  },
  {
    name: 'crewai',
    registry: 'pip',
    install: [...ofPython, 'crewai', 'openinference-instrumentation-crewai', 'openinference-instrumentation-openai'],
    program: ['crewai_crew.py'],
    sendsNo: ['input', 'unread'],
  },
  {
    name: 'ai@7',
    registry: 'npm',
    install: [...ofNode, 'ai@7', '@ai-sdk/openai@4', '@ai-sdk/otel', 'zod'],
    program: ['ai_7.mjs'],
    sendsNo: ['session', 'user'],
  },
  {
    name: 'ai@6',
    registry: 'npm',
    install: [...ofNode, 'ai@6', '@ai-sdk/openai@3', 'zod'],
    program: ['ai.mjs'],
  },
  {
    name: 'ai@5',
    registry: 'npm',
    install: [...ofNode, 'ai@5', '@ai-sdk/openai@2', 'zod'],
    program: ['ai.mjs'],
    sendsNo: ['cached'],
  },
  {
    name: '@arizeai/openinference-instrumentation-openai',
    registry: 'npm',
    install: [...ofNode, '@arizeai/openinference-instrumentation-openai', 'openai'],
    program: ['openinference_openai.mjs'],
    sendsNo: ['tool', 'tokens', 'cost'],
  },
  {
    name: '@arizeai/openinference-instrumentation-langchain',
    registry: 'npm',
    install: [
      ...ofNode,
      '@arizeai/openinference-instrumentation-langchain',
      '@langchain/core',
      '@langchain/openai',
      'langchain',
      'zod',
    ],
    program: ['langchain.mjs'],
  },
  {
    name: '@mastra/core',
    registry: 'npm',
    install: [
      ...ofNode.filter((name) => name !== '@opentelemetry/sdk-node'),
      ...['@mastra/core@1', '@mastra/observability@1', '@mastra/otel-exporter@1', '@ai-sdk/openai', 'zod@4'],
    ],
    program: ['mastra.mjs'],
    sendsNo: ['messages', 'tool call', 'model'],
  },
];
