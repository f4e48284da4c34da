# frozen_string_literal: true

require "json"
require "time"

module Post
  # Something is wrong with a letter.
  class LetterError < StandardError; end

  # A letter as it lies in the box.
  Letter = Struct.new(:from, :to, :text, :sent_at, keyword_init: true) do
    def late?(now = Time.now)
      now - sent_at > 3 * 24 * 60 * 60
    end
  end

  # Keeps letters in a file, one a line.
  class Mailbox
    include Enumerable

    attr_reader :path

    def self.open(path)
      box = new(path)
      return box unless block_given?

      yield box
    ensure
      box&.close
    end

    def initialize(path)
      @path = path
      @file = File.open(path, "a+")
    end

    # Reads from the first letter on.
    def each
      return enum_for(:each) unless block_given?

      @file.rewind
      @file.each_line.with_index(1) do |line, number|
        yield parse(line, number)
      end
    end

    def <<(letter)
      raise LetterError, "A letter needs somebody to go to." if letter.to.to_s.empty?

      @file.puts(JSON.generate(letter.to_h.merge(sent_at: letter.sent_at.iso8601)))
      self
    end

    def close
      @file.close
    end

    private

    # A line that was cut off by a crash is named, not skipped: somebody
    # has lost a letter and should know.
    def parse(line, number)
      fields = JSON.parse(line, symbolize_names: true)
      unless fields.is_a?(Hash) && fields.key?(:sent_at)
        raise LetterError, "Line #{number} of #{path} is no letter."
      end

      Letter.new(**fields, sent_at: Time.iso8601(fields[:sent_at]))
    rescue JSON::ParserError => error
      raise LetterError, "Line #{number} of #{path} is damaged: #{error.message}"
    end

    class << self
      def default
        open(File.join(Dir.home, ".mailbox"))
      end
    end
  end
end

Post::Mailbox.default.each { |letter| puts letter.text } if $PROGRAM_NAME == __FILE__
